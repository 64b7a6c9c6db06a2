package evidence

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// The minimum evidence of every promise about requests. A promise may need more.
const (
	// LoadWindow is the time over which load must have been delivered: short enough that a paused worker cannot make up for it, and
	// long enough for some requests of a slow lane.
	LoadWindow = time.Second
	// MinDelivered is the share of a window's requests that must have been sent.
	MinDelivered = 0.95
	// MinRequests is how many requests of a lane must have been sent: of fewer, 3 % could fail unnoticed (see UpperBound95).
	MinRequests = 100
	// maxClockUncertainty bounds the error of a worker's clock: a tenth of a window, so that requests belong to the right phase and
	// the right stage of a fault.
	maxClockUncertainty = LoadWindow / 10
)

// Never is a moment that does not come.
const Never = history.Offset(1<<63 - 1)

// Run is a record with what several promises ask of it, computed once.
type Run struct {
	Record history.Run
	Phases map[history.PhaseName]history.PhaseSpan // the first of each name
	Faults []timeline.FaultLife
	Gaps   []history.Event // of the watches that promises read; a gap of Kubernetes Events concerns only readers of a report
	Noise  noise
	memo   map[any]any // See memoize
	// OnRequest is given each request that was due under load, before promises are.
	OnRequest []func(*history.Request)

	Objects []history.Event // see inOneOrder; nil: not yet asked for
}

// New returns the evidence in a record. It reads no requests.
func New(run history.Run) *Run {
	f := &Run{Record: run, memo: make(map[any]any), Phases: make(map[history.PhaseName]history.PhaseSpan), Faults: timeline.Faults(run)}
	slices.SortStableFunc(f.Faults, func(a, b timeline.FaultLife) int { return cmp.Compare(a.ID, b.ID) })
	for _, p := range run.Phases() {
		if _, again := f.Phases[p.Name]; !again {
			f.Phases[p.Name] = p
		}
	}
	for _, e := range run.Events {
		if e.Gap != nil && e.Gap.What != "events" && e.Gap.What != "leases" {
			f.Gaps = append(f.Gaps, e)
		}
	}
	f.hear()
	return f
}

// timelineKey is the key under which a Run remembers its Timeline.
type timelineKey struct{}

// Timeline is the timeline of the record's objects. It is folded once.
func (f *Run) Timeline() *timeline.Timeline {
	return Memoize(f, timelineKey{}, func() *timeline.Timeline { return timeline.New(f.Record.Events) })
}

// Memoize returns the value that was built under a key before, or builds it.
func Memoize[T any](f *Run, key any, build func() T) T {
	if had, ok := f.memo[key]; ok {
		return had.(T)
	}
	built := build()
	f.memo[key] = built
	return built
}

// UnderLoad is the time in which requests count.
func (f *Run) UnderLoad() (from, to history.Offset) { return f.Record.UnderLoad() }

// Begin is the moment from which the cluster is judged: the start of Deploy, or of Steady in a record without Deploy.
func (f *Run) Begin() history.Offset {
	if p, ok := f.Phases[history.Deploy]; ok {
		return p.From
	}
	return f.Phases[history.Steady].From
}

// Steady is the moment from which the effects of faults are judged. Changes that a watch missed or delivered late before Steady do
// not matter for them: the objects are known again, and no fault has begun.
func (f *Run) Steady() history.Offset { return f.Phases[history.Steady].From }

// End is the end of Recovered, or of a record that was cut off before.
func (f *Run) End() history.Offset {
	if p, ok := f.Phases[history.Drained]; ok {
		return p.From
	}
	if n := len(f.Record.Events); n > 0 {
		return f.Record.Events[n-1].T
	}
	return 0
}

// Base reports what a record lacks, and what went wrong in its run. Gaps after from count, even those after which the watch
// delivered what it had missed, because when those changes happened is unknown.
func (f *Run) Base(from history.Offset) (d verdict.Missing) {
	return append(f.BaseOrdered(from), f.Late(from)...)
}

// BaseOrdered is Base for promises that a late report of a change does not make easier to keep: those about the order of changes,
// or about how soon something was over. Such a promise handles bridged gaps itself; before it says Violated, it asks Blind.
func (f *Run) BaseOrdered(from history.Offset) (d verdict.Missing) {
	if f.Record.Incomplete != "" {
		d.Add("the record is incomplete: %s", f.Record.Incomplete)
	}
	last := history.Offset(-1)
	for _, name := range []history.PhaseName{history.Steady, history.Disturbed, history.Recovered, history.Drained} {
		p, ok := f.Phases[name]
		switch {
		case !ok:
			d.Add("the record has no phase %s", name)
		case p.From < last:
			d.Add("phase %s begins at %s, before the phase that precedes it", name, prose.Moment(p.From))
		}
		last = p.From
	}
	d = append(d, f.sensible()...)
	d = append(d, f.heard(from)...)
	for _, e := range f.Record.Troubles() {
		d.Add("trouble at %s: %s", prose.Moment(e.T), e.Trouble.What)
	}
	for _, e := range f.Gaps {
		if !e.Gap.Bridged && e.Gap.Since < f.End() && e.T >= from {
			d.Add("the watch of %s had a gap from %s to %s: %s", e.Gap.What, prose.Moment(e.Gap.Since), prose.Moment(e.T), e.Gap.Why)
		}
	}
	return d
}

// Clocks reports workers whose clocks were not mapped to the run's clock precisely enough.
func (f *Run) Clocks(workers []string) (d verdict.Missing) {
	worst := make(map[string]history.Offset)
	for _, e := range f.Record.Events {
		if e.Clock != nil {
			worst[e.Clock.Worker] = max(worst[e.Clock.Worker], e.Clock.Uncertainty)
		}
	}
	for _, w := range workers {
		switch uncertainty, known := worst[w]; {
		case !known:
			d.Add("the clock of %s was never compared with the run's", w)
		case uncertainty > maxClockUncertainty:
			d.Add("the clock of %s may be off by %s, and at most %s is precise enough to tell phases apart",
				w, prose.Moment(uncertainty), prose.Moment(maxClockUncertainty))
		}
	}
	return d
}

// WatchSkew is how far the order of the record may differ from the API server's. Pods, budgets and evictions arrive by different
// connections and are recorded when they arrive, so changes that are closer together may have happened in the other order. The
// changes that one watch delivers are in order.
const WatchSkew = time.Second

// PropagationSlack is what NodeLossLimit allows from the moment at which the control plane marks the pods of a lost node as not
// ready until no proxy sends requests to them: the EndpointSlice is written, and every kube-proxy waits its minimum of 1 s between
// two syncs and syncs. A busy machine with two cores takes 2 s; the rest is margin.
const PropagationSlack = 3 * time.Second

// Lookback is how long before the first report containers may have ended that were not told to end: kubelets report within a second or two.
const Lookback = 3 * time.Second

// EvictionReason is the reason of the condition DisruptionTarget of a pod that the eviction API removed.
//
// Source: https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
const EvictionReason = "EvictionByEvictionAPI"

// clockErrorKey is the key under which a Run remembers its ClockError.
type clockErrorKey struct{}

// ClockError is how far the times of requests may differ from the record's clock, and half of how far the times of two workers may differ.
// A verdict that depends on a finer order is Unknown.
func (f *Run) ClockError() history.Offset {
	return Memoize(f, clockErrorKey{}, func() (worst history.Offset) {
		for _, e := range f.Record.Events {
			if e.Clock != nil {
				worst = max(worst, e.Clock.Uncertainty)
			}
		}
		return worst
	})
}
