package evidence

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/prose"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// The least evidence that every promise about requests demands. A promise adds what only it needs.
const (
	// LoadWindow is the time over which load must have been delivered: short enough that a worker which paused
	// cannot make up for it, long enough to hold some requests of a slow lane.
	LoadWindow = time.Second
	// MinDelivered is the share of a window's requests that must have been sent.
	MinDelivered = 0.95
	// MinRequests is how many requests of a lane must have been sent: of fewer, 3 % may fail unseen (see UpperBound95).
	MinRequests = 100
	// maxClockUncertainty bounds how far a worker's clock may be off: a tenth of a window, so that requests are laid
	// against the right phase and the right stage of a fault.
	maxClockUncertainty = LoadWindow / 10
)

// Never is a moment that does not come.
const Never = history.Offset(1<<63 - 1)

// facts are what several promises ask of a record, computed once.
type Run struct {
	Record history.Run
	Phases map[history.PhaseName]history.PhaseSpan // the first of each name
	Faults []history.FaultLife
	Gaps   []history.Event // of the watches that promises read: Kubernetes Events are kept for the reader of a report
	Noise  noise
	memo   map[any]any // See memoize
	// OnRequest is given each request that was due under load, before promises are.
	OnRequest []func(*history.Request)

	Objects []history.Event // see inOneOrder; nil: not yet asked for
}

func New(run history.Run) *Run {
	f := &Run{Record: run, memo: make(map[any]any), Phases: make(map[history.PhaseName]history.PhaseSpan), Faults: run.Faults()}
	slices.SortStableFunc(f.Faults, func(a, b history.FaultLife) int { return cmp.Compare(a.ID, b.ID) })
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

// Memoize gives what was built of a record under a key before, or builds it.
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

// Begin is the moment from which on the cluster is judged: of Deploy, or of the first phase where there is none.
func (f *Run) Begin() history.Offset {
	if p, ok := f.Phases[history.Deploy]; ok {
		return p.From
	}
	return f.Phases[history.Steady].From
}

// Steady is the moment from which on what faults do is judged. What a watch missed, or told late, and had made up for by then, is not
// about them: the objects are known again, and nothing was done yet.
func (f *Run) Steady() history.Offset { return f.Phases[history.Steady].From }

// End is the end of Recovered, or of the record where it was cut off before.
func (f *Run) End() history.Offset {
	if p, ok := f.Phases[history.Drained]; ok {
		return p.From
	}
	if n := len(f.Record.Events); n > 0 {
		return f.Record.Events[n-1].T
	}
	return 0
}

// Base doubts a record that is not whole, or of a run that did not go as it should. Gaps count from the given moment, those
// that were bridged, too: when something happened is not known of them.
func (f *Run) Base(from history.Offset) (d verdict.Missing) {
	return append(f.BaseOrdered(from), f.Late(from)...)
}

// BaseOrdered is record for promises that late news of a change does not make easier to keep: those that ask for the order of
// changes alone, or how soon something was over. They judge gaps that were bridged, and for a violation see blind.
func (f *Run) BaseOrdered(from history.Offset) (d verdict.Missing) {
	if f.Record.Incomplete != "" {
		d.Add("the record is not whole: %s", f.Record.Incomplete)
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

// Clocks doubts workers whose clocks were not mapped to the run's well enough.
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

// WatchSkew is how far the record's order may differ from the API server's. Pods, budgets and evictions reach the
// Base by different connections, each dated when it arrived, so what lies closer together may have happened the
// other way round. What one watch told is in order.
const WatchSkew = time.Second

// PropagationSlack is what NodeLossLimit allows from the moment the control plane marks a lost node's pods as not ready
// to the moment no proxy sends anything to them: the EndpointSlice is written, every kube-proxy waits out its minimum
// of 1 s between two syncs, and syncs. A busy machine of two cores takes 2 s; the rest is margin.
const PropagationSlack = 3 * time.Second

// EvictionReason is the DisruptionTarget reason of a pod that went by the eviction API.
//
// Source: https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
const EvictionReason = "EvictionByEvictionAPI"

// ClockError is how far the times of requests may be off the record's clock.
func (f *Run) ClockError() (worst history.Offset) {
	for _, e := range f.Record.Events {
		if e.Clock != nil {
			worst = max(worst, e.Clock.Uncertainty)
		}
	}
	return worst
}
