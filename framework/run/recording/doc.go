// Package recording records what happens in a cluster that holdfast did not make, while somebody else does something to it, and has the record
// judged like that of any run: who ran what, watches of the chosen namespaces, and, where probes are given, load.
//
// It changes nothing in the cluster: its clients can only read. Where load is wanted from inside of the cluster, package inside makes the
// workers. What the record shows is read from it by package disturbances, and judged by package judge.
package recording
