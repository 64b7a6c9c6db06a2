package timeline

import (
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Timeline has the timelines of all objects of a record.
type Timeline struct {
	// Pods are all pods, in the order of their first reports. A pod is identified by its UID.
	Pods []*Pod
	// Nodes are the nodes, by name.
	Nodes map[string]*Node
	// Services are the pods that a Service ever had as endpoints, in the order of Pods, by the Service's name. A Service whose
	// EndpointSlices were always empty has none.
	Services map[string][]*Pod
	// Ports are the ports of a Service's pods, by its name. Empty in older records.
	Ports map[string][]int32

	byName map[string][]*Pod // in the order of their first reports
	ended  []*Pod            // in the order in which they began to end
	losses []NodeLoss
}

// New folds the events of a record, in one pass.
func New(events []history.Event) *Timeline {
	t := &Timeline{Nodes: make(map[string]*Node), Services: make(map[string][]*Pod), Ports: make(map[string][]int32), byName: make(map[string][]*Pod)}
	byUID, services := make(map[string]*Pod), make(endpointSlices)
	for i := range events {
		switch e := &events[i]; {
		case e.Pod != nil:
			t.pod(byUID, e.T, e.Pod)
		case e.Node != nil:
			t.node(e.T, e.Node)
		case e.Slice != nil:
			services.see(t, e.T, e.Slice)
		case e.KubeNote != nil && e.KubeNote.Kind == "Pod":
			if p := t.Pod(e.KubeNote.Name, e.T); p != nil {
				p.note(e.T, e.KubeNote)
			}
		}
	}
	for _, p := range t.Pods {
		p.Alone = len(t.byName[p.Name]) == 1
		for _, service := range slices.Sorted(maps.Keys(p.Endpoints)) {
			t.Services[service] = append(t.Services[service], p)
		}
	}
	return t
}

// Pod is the pod of a name at a moment. Of several pods that had the name one after another, it is the one that existed then,
// or else the next one; after the end of all of them, the last one. Nil: no pod ever had the name. Namespaces are ignored,
// because neither requests nor Kubernetes Events of a scenario come from pods of different namespaces with the same name.
func (t *Timeline) Pod(name string, at history.Offset) *Pod {
	list := t.byName[name]
	for i, p := range list {
		if i+1 == len(list) || !p.Gone.OK || at <= p.Gone.At {
			return p
		}
	}
	return nil
}

// Terminations lists the pods whose end began within [from, to), in the order in which they began to end.
func (t *Timeline) Terminations(from, to history.Offset) []*Pod {
	return slices.DeleteFunc(slices.Clone(t.ended), func(p *Pod) bool { return p.EndBegan() < from || p.EndBegan() >= to })
}

// NodeLosses lists the losses of nodes that began within [from, to), ordered by when they began. A node that was never seen
// Ready cannot be lost.
func (t *Timeline) NodeLosses(from, to history.Offset) []NodeLoss {
	return slices.DeleteFunc(slices.Clone(t.losses), func(loss NodeLoss) bool { return loss.At < from || loss.At >= to })
}

// Never is a moment that does not come: the end of what lasts until the end of the record.
const Never = history.Offset(1<<63 - 1)

// Series is a value that changes over time. Each point holds from its At until the At of the next one, which is excluded.
// Points are ordered by At; of points with the same At, all but the last hold for no time.
type Series[T any] []Point[T]

// Point is a value from a moment on.
type Point[T any] struct {
	At    history.Offset
	Value T
}

// Any reports whether the series had a value for which like returns true at some moment from from to to, both included. A
// point that holds for no time counts if its At is later than from, because the order of such changes is not known.
func (s Series[T]) Any(from, to history.Offset, like func(T) bool) bool {
	for i := range s {
		if s[i].At > to {
			return false
		}
		over := i+1 < len(s) && s[i+1].At <= from
		if !over && like(s[i].Value) {
			return true
		}
	}
	return false
}

// At is the value at a moment; not ok before the first point.
func (s Series[T]) At(at history.Offset) (value T, ok bool) {
	for i := range s {
		if s[i].At > at {
			break
		}
		value, ok = s[i].Value, true
	}
	return value, ok
}

// Span is the time in which something was in one state, To excluded.
type Span[S any] struct {
	State    S
	From, To history.Offset
}

// spans are the times between the changes of a state, until end. Reports of which state returns false belong to no span.
func spans[T any, S comparable](s Series[T], end history.Offset, state func(T) (S, bool)) (list []Span[S]) {
	open := false
	for i := range s {
		now, ok := state(s[i].Value)
		last := len(list) - 1
		if last >= 0 && ok && list[last].State == now && (open || list[last].To == s[i].At) {
			list[last].To, open = end, true
			continue
		}
		if open {
			list[last].To = s[i].At
		}
		if open = ok; ok {
			list = append(list, Span[S]{State: now, From: s[i].At, To: end})
		}
	}
	return list
}
