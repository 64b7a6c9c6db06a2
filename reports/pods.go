package reports

import (
	"cmp"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	objects "github.com/holdfast-ha/holdfast/framework/history/timeline"
)

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
