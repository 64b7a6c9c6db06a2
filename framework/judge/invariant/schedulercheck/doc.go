// Package schedulercheck compares the rules by which invariant.Placement judges a binding with kube-scheduler's own plugins, on
// random clusters. For each node of a cluster, it makes the record of a pod that was bound to the node; Placement must judge that
// record as the plugins' filters judge the node. framework/judge/analysis/placement holds the rules; the scheduler defines what they mean.
//
// The package is a Go module of its own, because k8s.io/kubernetes is not made to be imported: it needs a replace line for each of
// the modules that are published from it, and projects that import holdfast must not inherit those lines. It holds tests only:
//
//	make fuzz-scheduler N=100000
package schedulercheck
