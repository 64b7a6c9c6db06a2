// Package placement decides, from a record, whether each binding of a pod to a node was legal under the scheduler's hard rules at
// the moment when it was made, and whether bindings that were made close together were legal in some order.
//
// The scheduler decides by its own cache, so it may or may not have known of a change that was recorded within evidence.WatchSkew
// of a binding. Most answers therefore have three values: surely, maybe, no.
//
// What a node selector, a label selector, a taint and a toleration mean is decided by Kubernetes' own libraries. How spread
// constraints and pod affinity count other pods is written here, because kube-scheduler does not publish it as a library;
// framework/judge/invariant/schedulercheck compares the results with kube-scheduler's plugins on random clusters.
//
// The package ignores soft rules, resources, ports, volumes and pods of other namespaces.
package placement
