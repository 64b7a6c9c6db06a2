package parts

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// common are the events that belong to every part, as indices of the record's events, in order. A recording of a day has a hundred thousand of them, and
// is cut to more than a thousand times: each cut finds those that it needs, and looks at no others.
type common struct {
	timed  []int32            // all but always
	always []int32            // see always
	told   []int32            // those of timed that tell of the cluster, and not of how the recorder itself ran
	nodes  map[string][]int32 // by name
	spans  []int32            // those of timed that tell of a time before them, see since
	first  []history.Offset   // for each of spans, when the earliest began that it and the later ones tell of
}

func newCommon() common { return common{nodes: make(map[string][]int32)} }

// always says whether an event is kept in each cut: what load workers were told, how precise their clocks are, and that a recorder was away.
func always(e *history.Event) bool { return e.Clock != nil || e.Share != nil || e.Resumed != nil }

// add takes in the next event.
func (c *common) add(e *history.Event, i int32) {
	if always(e) {
		c.always = append(c.always, i)
		return
	}
	c.timed = append(c.timed, i)
	if e.Noise == nil && e.Echo == nil {
		c.told = append(c.told, i)
	}
	if e.Node != nil {
		c.nodes[e.Node.Name] = append(c.nodes[e.Node.Name], i)
	}
	if since(e) < e.T {
		c.spans = append(c.spans, i)
	}
}

// done is called when all events were added.
func (c *common) done(events []history.Event) {
	c.first = make([]history.Offset, len(c.spans))
	earliest := Whole
	for i := len(c.spans) - 1; i >= 0; i-- {
		earliest = min(earliest, since(&events[c.spans[i]]))
		c.first[i] = earliest
	}
}

// nodesAt are the last event of each node before a time.
func (c *common) nodesAt(events []history.Event, at history.Offset) (list []int32) {
	for _, all := range c.nodes {
		if n := before(events, all, at); n > 0 {
			list = append(list, all[n-1])
		}
	}
	return list
}

// about are the events of a time, without their order: those in it, and later ones that tell of it.
func (c *common) about(events []history.Event, from, to history.Offset) []int32 {
	all := slices.Clone(c.always)
	if begin, end := before(events, c.timed, from), before(events, c.timed, to); begin < end {
		all = append(all, c.timed[begin:end]...)
	}
	for i := before(events, c.spans, to); i < len(c.spans) && c.first[i] < to; i++ {
		all = append(all, c.spans[i])
	}
	return all
}

// before counts the events of a list that come before a time.
func before(events []history.Event, list []int32, at history.Offset) int {
	n, _ := slices.BinarySearchFunc(list, at, func(i int32, at history.Offset) int {
		if events[i].T < at {
			return -1
		}
		return 1
	})
	return n
}
