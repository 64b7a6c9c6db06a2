// Package disturb decides what holdfast may do to a cluster that it did not make, before it does anything: a Plan names each object that a
// fault would touch, the field, the undo and the permission, and each rule that refuses.
//
// Make is a pure function of a Request, which is what the user asked for, and of a Snapshot, which package reading reads. It changes
// nothing, and what could not be read is refused, never allowed. Rules lists the 23 rules of safety. Those that are about how things are
// done are kept by other packages, which the table names. Package session does what a plan says.
package disturb
