// Package existing is a cluster that holdfast did not make, reached by a kubeconfig: who is asked as whom, what the cluster can do, and its nodes.
//
// It creates nothing, and does nothing to a node. A client of ReadOnly can do nothing but read, whatever it is told. Which cluster is meant is
// said by kubectl's own flags.
package existing
