package reports

import (
	objects "github.com/holdfast-ha/holdfast/framework/history/timeline"
)

// Zone is a topology domain and its nodes. The name is empty for nodes without a zone.
type Zone struct {
	Name  string
	Nodes []Node
}

// Node is a node and the pods that were bound to it. The name is empty for pods that were never bound.
type Node struct {
	Name  string
	Spans []NodeSpan
	Pods  []Pod
}

// NodeSpan is a time in which a node's state did not change.
type NodeSpan = objects.Span[objects.NodeState]

// Pod is a pod and its states over time.
type Pod struct {
	Name     string
	Workload string // the Deployment it belongs to; empty for other pods
	// Generation is the index of the pod's template among the templates of its workload, in the order in which they were seen.
	Generation int
	Restarts   int
	Disruption string // the reason of its DisruptionTarget condition
	Trouble    string // why it could not be scheduled or started, as last seen
	Spans      []PodSpan
}

// PodSpan is a time in which a pod's state did not change. After the last span the pod has ended.
type PodSpan = objects.Span[objects.PodState]
