// Package session does what a plan says to a cluster that holdfast did not make, fault by fault, and records and judges what comes of it.
//
// Nothing is done unless all of the plan may be done. Each fault is planned once more on the cluster as it then is, announced by Events,
// noted on the object that it changes by the request that changes it, and undone. A healer in the cluster undoes it if this process cannot. What the fault did is read from the
// record, as what any other client does: no verdict rests on what this package meant to do.
//
// Its clients can read, and send the writes of the plan, and no others. It decides nothing about what is allowed: package disturb does.
package session
