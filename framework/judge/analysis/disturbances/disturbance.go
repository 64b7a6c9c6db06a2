package disturbances

import (
	"cmp"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Kind is what disturbed a cluster. Its text is part of the name of a figure, and of report.json.
type Kind string

// The kinds.
const (
	// Drain is a node that was cordoned or tainted, and whose pods were evicted or deleted.
	Drain Kind = "drain"
	// Cordon is a node that was cordoned or tainted, and whose recorded pods stayed.
	Cordon Kind = "cordon"
	// NodeLost is a node that was not Ready any more, or was deleted, while recorded pods were on it.
	NodeLost Kind = "node-lost"
	// NodeUnready is the same without recorded pods.
	NodeUnready Kind = "node-unready"
	// NodeRemoved is a node that was deleted when no recorded pod was on it, and NodeAdded a new one.
	NodeRemoved Kind = "node-removed"
	NodeAdded   Kind = "node-added"
	// NodeUpgrade is a node that stayed as it was while the version of its kubelet changed, and ServerUpgrade another version of the API
	// server.
	NodeUpgrade   Kind = "node-upgrade"
	ServerUpgrade Kind = "server-upgrade"
	// Pressure is a kubelet that evicted pods because its node was short of something.
	Pressure Kind = "pressure"
	// Rollout is a workload whose pod template changed, and Scale one of which another number of replicas was wanted.
	Rollout Kind = "rollout"
	Scale   Kind = "scale"
	// Eviction, TaintEviction, Preemption and Deletion are pods that ended on a node that stayed in use: through the eviction API, by the
	// taint manager, for pods of a higher priority, and by another client.
	Eviction      Kind = "eviction"
	TaintEviction Kind = "taint-eviction"
	Preemption    Kind = "preemption"
	Deletion      Kind = "deletion"
	// Failure is pods that failed, and Restart containers of ready pods that were restarted, without any of the above.
	Failure Kind = "failure"
	Restart Kind = "restart"
)

// Voluntary says whether what disturbed the cluster takes pods away in an orderly way: they are told to end and withdrawn from their
// Services, so that no request has to fail.
//
// Source: https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#voluntary-and-involuntary-disruptions
func (k Kind) Voluntary() bool {
	return !slices.Contains([]Kind{NodeLost, NodeUnready, Pressure, Failure, Restart}, k)
}

// Disturbance is one thing that disturbed a cluster. All moments are those of reports of watches, which are never earlier than the
// changes, except for From of a lost node.
type Disturbance struct {
	Kind Kind
	// Name is how sentences call it: "the drain of w2".
	Name string
	// Words say what was seen, in one sentence: "node w2 was drained: cordoned at 12.3s, 5 pods evicted until 31s, uncordoned at 1m4s".
	Words string
	// From is when it began, of a lost node the earliest moment at which the node may have been lost. Seen is when its effect was
	// complete, as far as it is an effect at once: the last pod had been told to end, the node had been reported as lost. Over is from
	// when it no longer did anything to the pods.
	From, Seen, Over history.Offset
	// Open means that it was not over when the record ended. Over is then the end of the record.
	Open bool
	// Told is when the last part of Words was seen, such as that a drained node is in use again.
	Told history.Offset
	// Nodes are those that it took, sorted. A node that was only added or upgraded is not taken, and is in Words only.
	Nodes []string
	// Pods are those that it ended or restarted, and those on a lost node, in order.
	Pods []Pod
	// Workloads are those that it changed.
	Workloads []history.Key
}

// Pod is a pod that was ended, whose container was restarted, or whose node was lost.
type Pod struct {
	Namespace, Name, UID, Node string
	At                         history.Offset // when its end began, or the restart of its container or the loss of its node was reported
	Restarted                  bool
	Stayed                     bool // its node was lost, and the pod did not end
}

// sorted orders disturbances by when they began.
func sorted(list []Disturbance) []Disturbance {
	slices.SortStableFunc(list, func(a, b Disturbance) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Told, b.Told), cmp.Compare(a.Words, b.Words))
	})
	return list
}

// first and last are the moments of the first and the last pod.
func first(pods []Pod) history.Offset { return pods[0].At }
func last(pods []Pod) history.Offset  { return pods[len(pods)-1].At }

func (p Pod) moment() history.Offset { return p.At }

func byMoment(a, b Pod) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Noun is the kind in words that can be counted: "3 rollouts".
func (k Kind) Noun() string {
	if noun, ok := nouns[k]; ok {
		return noun
	}
	return string(k)
}

// nouns are those of the kinds whose text is none.
var nouns = map[Kind]string{
	Scale: "scaling", NodeLost: "lost node", NodeUnready: "unready node", NodeRemoved: "removed node", NodeAdded: "added node",
	NodeUpgrade: "kubelet upgrade", ServerUpgrade: "API server upgrade", Pressure: "kubelet eviction",
	Eviction: "pod eviction", TaintEviction: "taint eviction", Preemption: "pod preemption", Deletion: "pod deletion",
	Failure: "pod failure", Restart: "container restart",
}
