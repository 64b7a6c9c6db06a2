package historytest

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Builder builds a run. Methods that return a Builder modify and return their receiver.
type Builder struct {
	header     history.Header
	events     []history.Event
	requests   []history.Request
	lent       bool // a run or another Builder shares requests, which are copied before one is edited
	totals     bool // Run adds Clock and LoadTotals
	readError  error
	incomplete string
}

// New returns a run with only a header.
func New() *Builder {
	return &Builder{totals: true, header: history.Header{
		Format:   history.FormatVersion,
		RunID:    "20260102-030405-built",
		Scenario: "test/built",
		Claim:    "a built record is judged as a recorded one",
		Base:     time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Seed:     1,
		Holdfast: "test",
		Cluster: history.ClusterInfo{
			Name:       "holdfast-test",
			Kubernetes: "v1.37.0",
			Provider:   "kind",
			Engine:     "podman",
			Image:      "kindest/node:v1.37.0",
			Profile:    "lab",
			ProxyMode:  "nftables",
			Timings: history.Timings{
				NodeStatusUpdate:  time.Second,
				NodeLease:         4 * time.Second,
				NodeMonitorPeriod: time.Second,
				NodeMonitorGrace:  4 * time.Second,
				Toleration:        2 * time.Second,
			},
		},
	}}
}

// Header edits the header.
func (b *Builder) Header(edit func(*history.Header)) *Builder {
	edit(&b.header)
	return b
}

// Event adds an event, in any order: Run sorts by T, and keeps the order of adding for equal T.
func (b *Builder) Event(e history.Event) *Builder {
	b.events = append(b.events, e)
	return b
}

// Phase begins a phase.
func (b *Builder) Phase(name history.PhaseName, at history.Offset) *Builder {
	return b.Event(history.Event{T: at, Phase: &history.Phase{Name: name}})
}

// Fault adds one stage of a fault.
func (b *Builder) Fault(at history.Offset, mark history.FaultMark) *Builder {
	return b.Event(history.Event{T: at, Fault: &mark})
}

// Step adds one stage of a step of a long operation, such as an upgrade.
func (b *Builder) Step(at history.Offset, step history.Step) *Builder {
	return b.Event(history.Event{T: at, Step: &step})
}

// Pod adds an event of a pod watch. An empty namespace becomes Namespace.
func (b *Builder) Pod(at history.Offset, pod history.Pod) *Builder {
	pod.Namespace = cmp.Or(pod.Namespace, Namespace)
	return b.Event(history.Event{T: at, Pod: &pod})
}

// Node adds an event of a node watch.
func (b *Builder) Node(at history.Offset, node history.Node) *Builder {
	return b.Event(history.Event{T: at, Node: &node})
}

// Workload adds an event of a Deployment watch. An empty namespace becomes Namespace.
func (b *Builder) Workload(at history.Offset, w history.Workload) *Builder {
	w.Namespace = cmp.Or(w.Namespace, Namespace)
	return b.Event(history.Event{T: at, Workload: &w})
}

// Slice adds an event of an EndpointSlice watch. An empty namespace becomes Namespace.
func (b *Builder) Slice(at history.Offset, s history.Slice) *Builder {
	s.Namespace = cmp.Or(s.Namespace, Namespace)
	return b.Event(history.Event{T: at, Slice: &s})
}

// Budget adds an event of a PodDisruptionBudget watch. An empty namespace becomes Namespace.
func (b *Builder) Budget(at history.Offset, budget history.Budget) *Builder {
	budget.Namespace = cmp.Or(budget.Namespace, Namespace)
	return b.Event(history.Event{T: at, Budget: &budget})
}

// Eviction adds one response of the eviction API. An empty namespace becomes Namespace.
func (b *Builder) Eviction(at history.Offset, e history.Eviction) *Builder {
	e.Namespace = cmp.Or(e.Namespace, Namespace)
	return b.Event(history.Event{T: at, Eviction: &e})
}

// Admission adds one response to a dry run. An empty namespace becomes Namespace.
func (b *Builder) Admission(at history.Offset, a history.Admission) *Builder {
	a.Namespace = cmp.Or(a.Namespace, Namespace)
	return b.Event(history.Event{T: at, Admission: &a})
}

// Gap adds a gap in the watch of what, from since to at.
func (b *Builder) Gap(what string, since, at history.Offset) *Builder {
	return b.Event(history.Event{T: at, Gap: &history.Gap{What: what, Since: since, Why: "the watch broke off"}})
}

// Trouble adds a trouble of the harness.
func (b *Builder) Trouble(at history.Offset, what string) *Builder {
	return b.Event(history.Event{T: at, Trouble: &history.Trouble{What: what}})
}

// Incomplete makes the record incomplete.
func (b *Builder) Incomplete(why string) *Builder {
	b.incomplete = why
	return b
}

// EditEvents calls edit with every event added so far.
func (b *Builder) EditEvents(edit func(*history.Event)) *Builder {
	for i := range b.events {
		edit(&b.events[i])
	}
	return b
}

// DropEvents removes every event added so far for which drop returns true.
func (b *Builder) DropEvents(drop func(history.Event) bool) *Builder {
	b.events = slices.DeleteFunc(b.events, drop)
	return b
}

// Run returns the run. Unless WithoutTotals was called, it adds a Clock for each worker, and LoadTotals for each worker and
// lane that match the requests. The Builder can be used further and Run can be called again: runs that were returned before
// do not change.
func (b *Builder) Run() history.Run {
	rows, order := b.lend(), byDone(b.requests)
	events := append([]history.Event{{Header: &b.header}}, b.events...)
	if b.totals {
		events = append(events, totals(rows, lastT(events))...)
	}
	slices.SortStableFunc(events, func(x, y history.Event) int { return cmp.Compare(x.T, y.T) })
	copyPayloads(events)
	return history.Run{
		Header:     *events[0].Header,
		Events:     events,
		Requests:   func() iter.Seq2[*history.Request, error] { return each(rows, order, b.readError) },
		Incomplete: b.incomplete,
	}
}

// byDone is the order of rows by the time at which they were done.
func byDone(rows []history.Request) []int {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(rows[x].Done, rows[y].Done) })
	return order
}

// each reuses one Request for all rows, as the reader of files does, so that tests detect code that keeps the pointer.
func each(rows []history.Request, order []int, end error) iter.Seq2[*history.Request, error] {
	return func(yield func(*history.Request, error) bool) {
		var row history.Request
		for _, i := range order {
			row = rows[i]
			if !yield(&row, nil) {
				return
			}
		}
		if end != nil {
			yield(nil, end)
		}
	}
}

func lastT(events []history.Event) history.Offset {
	var last history.Offset
	for i := range events {
		last = max(last, events[i].T)
	}
	return last
}
