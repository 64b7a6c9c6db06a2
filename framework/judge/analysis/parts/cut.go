package parts

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Whole is all the time of a record.
const Whole = history.Offset(1<<63 - 1)

// Events are the events of some parts and of the cluster from from (inclusive) to to (exclusive), ordered by T. They begin with the
// state at from, as a list of the objects at that moment would show it, unless from is zero. What a watch missed, and how the
// recorder itself ran, is kept as far as it concerns the time; what load workers were told, and how precise their clocks are, is kept in
// any case.
//
// The payloads are shared with the record.
func (s *Parts) Events(from, to history.Offset, list ...*Part) []history.Event {
	c := cutter{from: from, to: to, state: newSnapshot()}
	for _, i := range s.common.nodesAt(s.run.Events, from) {
		c.state.apply(&s.run.Events[i])
	}
	for _, i := range s.about(from, to, list) {
		c.take(&s.run.Events[i])
	}
	c.begin()
	return c.events
}

// Lives are the events of some parts and of the cluster for all the time of the record, without how the recorder itself ran: what happened, and not
// how surely that is known. They are few, where the record has an event of the recorder for each second.
func (s *Parts) Lives(list ...*Part) []history.Event {
	all := slices.Concat(s.common.always, s.common.told)
	for _, p := range list {
		all = append(all, p.events...)
	}
	slices.Sort(all)
	events := make([]history.Event, len(all))
	for i, at := range all {
		events[i] = s.run.Events[at]
	}
	return events
}

// about are the indices of the events that a cut to a time needs, in order: those of the parts, and of the common ones those that concern the time.
func (s *Parts) about(from, to history.Offset, list []*Part) []int32 {
	all := s.common.about(s.run.Events, from, to)
	for _, p := range list {
		all = append(all, p.events...)
	}
	slices.Sort(all)
	return all
}

// cutter cuts events to a time.
type cutter struct {
	from, to history.Offset
	state    *snapshot // at from
	begun    bool
	events   []history.Event
}

func (c *cutter) take(e *history.Event) {
	switch {
	case always(e):
	case e.T >= c.to && since(e) >= c.to:
		return
	case e.T < c.from:
		c.state.apply(e)
		return
	}
	if e.T >= c.from {
		c.begin()
	}
	c.events = append(c.events, *e)
}

// begin adds the state at from.
func (c *cutter) begin() {
	if !c.begun && c.from > 0 {
		c.events = append(c.events, c.state.events(c.from)...)
	}
	c.begun = true
}

// since is when what an event tells of began.
func since(e *history.Event) history.Offset {
	switch {
	case e.Gap != nil:
		return e.Gap.Since
	case e.Noise != nil:
		return e.Noise.Since
	case e.Echo != nil:
		return e.Echo.Sent
	}
	return e.T
}

// snapshot is the state of the objects at a moment.
type snapshot struct {
	state   *history.State
	details map[string]*history.Pod // the first report of each pod, which has what later ones lack
}

func newSnapshot() *snapshot {
	return &snapshot{state: history.NewState(), details: make(map[string]*history.Pod)}
}

func (s *snapshot) apply(e *history.Event) {
	s.state.Apply(*e)
	switch p := e.Pod; {
	case p == nil:
	case p.Change == history.Deleted:
		delete(s.details, p.UID)
	case p.Lifecycle != nil:
		s.details[p.UID] = p
	}
}

// events list the objects, pods before the EndpointSlices that name them.
func (s *snapshot) events(at history.Offset) (list []history.Event) {
	for _, name := range slices.Sorted(maps.Keys(s.state.Nodes)) {
		n := s.state.Nodes[name]
		n.Change = history.Listed
		list = append(list, history.Event{T: at, Node: &n})
	}
	for _, key := range keys(s.state.Workloads) {
		w := s.state.Workloads[key]
		w.Change = history.Listed
		list = append(list, history.Event{T: at, Workload: &w})
	}
	for _, key := range keys(s.state.Budgets) {
		b := s.state.Budgets[key]
		b.Change = history.Listed
		list = append(list, history.Event{T: at, Budget: &b})
	}
	for _, uid := range slices.Sorted(maps.Keys(s.state.Pods)) {
		p := s.state.Pods[uid]
		p.Change = history.Listed
		if first := s.details[uid]; first != nil && p.Lifecycle == nil {
			p.Lifecycle = first.Lifecycle
		}
		list = append(list, history.Event{T: at, Pod: &p})
	}
	for _, key := range keys(s.state.Slices) {
		one := s.state.Slices[key]
		one.Change = history.Listed
		list = append(list, history.Event{T: at, Slice: &one})
	}
	return list
}

func keys[V any](of map[history.Key]V) []history.Key {
	return slices.SortedFunc(maps.Keys(of), func(a, b history.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}
