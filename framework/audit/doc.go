// Package audit finds single points of failure in what runs on a cluster now: what a lost node, zone or pod, a drain or a
// rollout would cost each Deployment and StatefulSet, with the evidence and the exact commands that mend it.
//
// Read lists what is needed and is the only part that talks to a cluster; it gets and lists, and never writes. Audit is a
// pure function of what was read. What could not be read, or cannot be told, is reported as not checked, never as fine.
//
// It is not a benchmark of security or cost, it does not look at DaemonSets, Jobs or bare pods, and it proves nothing
// about what happens under load: that is what scenarios are for.
package audit
