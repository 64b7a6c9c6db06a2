package reports

import (
	"cmp"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const templateLabel = "pod-template-hash"

// life is a pod being followed through the events.
type life struct {
	Pod
	node  string
	ready bool // at least once
}

// pods follows every pod through the events and returns them by node, each node's in the order in which they began.
func pods(events []history.Event, end history.Offset) map[string][]Pod {
	var order []*life
	byUID := make(map[string]*life)
	owners := newOwners(events)
	for i := range events {
		seen := events[i].Pod
		if seen == nil {
			continue
		}
		l := byUID[seen.UID]
		if l == nil {
			l = &life{Pod: Pod{Name: seen.Name}}
			l.Workload, l.Generation = owners.of(seen)
			byUID[seen.UID] = l
			order = append(order, l)
		}
		l.see(events[i].T, seen, end)
	}
	slices.SortStableFunc(order, func(a, b *life) int { return cmp.Compare(a.begin(end), b.begin(end)) })
	byNode := make(map[string][]Pod)
	for _, l := range order {
		if len(l.Spans) > 0 {
			byNode[l.node] = append(byNode[l.node], l.Pod)
		}
	}
	return byNode
}

func (l *life) begin(end history.Offset) history.Offset {
	if len(l.Spans) == 0 {
		return end
	}
	return l.Spans[0].From
}

// see closes the last span at t and opens one for the state that the watch reported.
func (l *life) see(t history.Offset, seen *history.Pod, end history.Offset) {
	l.node = cmp.Or(seen.Node, l.node)
	l.Restarts = max(l.Restarts, seen.Restarts)
	l.Disruption = cmp.Or(seen.Disruption, l.Disruption)
	l.Trouble = cmp.Or(seen.Unschedulable, seen.Waiting, l.Trouble)
	if last := len(l.Spans) - 1; last >= 0 {
		l.Spans[last].To = min(l.Spans[last].To, t)
	}
	if seen.Change == history.Deleted || seen.Ended() {
		return
	}
	state := l.state(seen)
	l.ready = l.ready || state == PodReady
	if last := len(l.Spans) - 1; last >= 0 && l.Spans[last].State == state && l.Spans[last].To == t {
		l.Spans[last].To = end
		return
	}
	l.Spans = append(l.Spans, PodSpan{State: state, From: t, To: end})
}

func (l *life) state(seen *history.Pod) PodState {
	switch {
	case seen.Deleting:
		return PodTerminating
	case seen.Ready:
		return PodReady
	case l.ready:
		return PodUnready
	}
	return PodStarting
}

// owners tells which Deployment a pod belongs to, and the how manyth of its pod templates it has.
type owners struct {
	workloads []history.Workload
	templates map[string][]string // by Deployment, in the order seen
}

func newOwners(events []history.Event) *owners {
	o := &owners{templates: make(map[string][]string)}
	for i := range events {
		if w := events[i].Workload; w != nil && len(w.Selector) > 0 {
			o.workloads = append(o.workloads, *w)
		}
	}
	return o
}

func (o *owners) of(pod *history.Pod) (workload string, generation int) {
	if workload = o.workload(pod.Namespace, pod.Labels); workload == "" {
		return "", 0
	}
	hash := pod.Labels[templateLabel]
	if generation = slices.Index(o.templates[workload], hash); generation < 0 {
		generation = len(o.templates[workload])
		o.templates[workload] = append(o.templates[workload], hash)
	}
	return workload, generation
}

func (o *owners) workload(namespace string, labels map[string]string) string {
	for i := range o.workloads {
		if w := &o.workloads[i]; w.Namespace == namespace && history.Selects(w.Selector, labels) {
			return w.Name
		}
	}
	return ""
}
