// Package schedulercheck compares the rules by which invariant.Placement judges a binding with kube-scheduler's own
// plugins, on random clusters: for every node of a cluster, what the record of a pod bound to it is judged to be must be
// what the plugins' filters say. The rules are written down in package invariant from the documentation; the scheduler
// is the authority on what they mean.
//
// It is a module of its own, because k8s.io/kubernetes is not made to be imported: it needs a replace line for each of
// the modules that are published from it, and nobody who imports holdfast should inherit those. It holds tests only:
//
//	make fuzz-scheduler N=100000
package schedulercheck
