package reports

import "github.com/holdfast-ha/holdfast/framework/history"

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

// NodeState is whether a node could run pods.
type NodeState string

// The states of a node.
const (
	NodeReady    NodeState = "ready"
	NodeCordoned NodeState = "cordoned" // ready, and unschedulable
	NodeNotReady NodeState = "not ready"
)

// NodeSpan is a time in which a node's state did not change.
type NodeSpan struct {
	State    NodeState
	From, To history.Offset
}

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

// PodState is whether a pod could serve requests.
type PodState string

// The states of a pod. The pod does not exist after its last span.
const (
	PodStarting    PodState = "starting"
	PodReady       PodState = "ready"
	PodUnready     PodState = "unready" // was ready before
	PodTerminating PodState = "terminating"
)

// PodSpan is a time in which a pod's state did not change.
type PodSpan struct {
	State    PodState
	From, To history.Offset
}
