// Package existing reaches a cluster that holdfast did not make, by a kubeconfig: who is asked as whom, what the user may do, and what is known
// of the cluster.
//
// It creates nothing, and does nothing to a node. A client of ReadOnly can do nothing but read, whatever it is told. Which cluster is meant is
// said by kubectl's own flags.
package existing
