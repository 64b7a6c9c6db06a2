package reports

import (
	"cmp"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
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

// zones arranges nodes and the pods that were bound to them by topology domain, named zones first. A node without a zone is listed only
// if it has pods, because scenarios are not about control planes.
func zones(events []history.Event, end history.Offset) []Zone {
	seen := objects.New(events)
	nodes, zoneOf := make(map[string]*Node), make(map[string]string)
	for name, node := range seen.Nodes {
		nodes[name], zoneOf[name] = &Node{Name: name, Spans: node.Spans(end)}, node.Zone
	}
	podsOn := pods(events, seen, end)
	for name := range podsOn {
		if nodes[name] == nil {
			nodes[name] = &Node{Name: name}
		}
	}
	byZone := make(map[string][]Node)
	for name, node := range nodes {
		if node.Pods = podsOn[name]; zoneOf[name] != "" || len(node.Pods) > 0 {
			byZone[zoneOf[name]] = append(byZone[zoneOf[name]], *node)
		}
	}
	var list []Zone
	for name, in := range byZone {
		slices.SortFunc(in, func(a, b Node) int { return namedFirst(a.Name, b.Name) })
		list = append(list, Zone{Name: name, Nodes: in})
	}
	slices.SortFunc(list, func(a, b Zone) int { return namedFirst(a.Name, b.Name) })
	return list
}

func namedFirst(a, b string) int {
	if (a == "") != (b == "") {
		return cmp.Compare(b, a)
	}
	return cmp.Compare(a, b)
}

const templateLabel = "pod-template-hash"

// pods describes all pods, by node. The pods of a node are in the order in which their first spans begin.
func pods(events []history.Event, seen *objects.Timeline, end history.Offset) map[string][]Pod {
	type onNode struct {
		Pod
		node string
	}
	var list []onNode
	owners := newOwners(events)
	for _, p := range seen.Pods {
		pod := onNode{Pod{Name: p.Name, Disruption: p.Disruption, Spans: p.Spans(end)}, p.Node}
		pod.Workload, pod.Generation = owners.of(p.Reports[0].Value)
		for _, report := range p.Reports {
			pod.Restarts = max(pod.Restarts, report.Value.Restarts)
			pod.Trouble = cmp.Or(report.Value.Unschedulable, report.Value.Waiting, pod.Trouble)
		}
		if len(pod.Spans) > 0 {
			list = append(list, pod)
		}
	}
	slices.SortStableFunc(list, func(a, b onNode) int { return cmp.Compare(a.Spans[0].From, b.Spans[0].From) })
	byNode := make(map[string][]Pod)
	for _, p := range list {
		byNode[p.node] = append(byNode[p.node], p.Pod)
	}
	return byNode
}

// owners tells which Deployment a pod belongs to, and the how manyth of its pod templates it has.
type owners struct {
	workloads []history.Workload
	templates map[string][]string // by Deployment, in the order seen
}

func newOwners(events []history.Event) *owners {
	o := &owners{templates: make(map[string][]string)}
	for i := range events {
		if w := events[i].Workload; w != nil {
			o.workloads = append(o.workloads, *w)
		}
	}
	return o
}

func (o *owners) of(pod *history.Pod) (workload string, generation int) {
	if workload = o.workload(pod); workload == "" {
		return "", 0
	}
	hash := pod.Labels[templateLabel]
	if generation = slices.Index(o.templates[workload], hash); generation < 0 {
		generation = len(o.templates[workload])
		o.templates[workload] = append(o.templates[workload], hash)
	}
	return workload, generation
}

func (o *owners) workload(pod *history.Pod) string {
	for i := range o.workloads {
		if w := &o.workloads[i]; w.Owns(pod) {
			return w.Name
		}
	}
	return ""
}
