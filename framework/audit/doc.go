// Package audit finds single points of failure in the Deployments and StatefulSets of a running cluster: what a lost node, zone
// or pod, a drain or a rollout would cost each of them, with the evidence and the exact commands that fix it.
//
// Read is the only part that talks to a cluster; it gets and lists, and never writes. Audit is a pure function of what was
// read. Whatever could not be read or decided is reported as not checked, never as good.
//
// The audit is no benchmark of security or cost, and ignores DaemonSets, Jobs and bare pods. It proves nothing about behaviour
// under load; scenarios do that.
package audit
