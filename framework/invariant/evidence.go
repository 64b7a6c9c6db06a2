package invariant

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// The least evidence that every promise about requests demands. A promise adds what only it needs.
const (
	// loadWindow is the time over which load must have been delivered: short enough that a worker which paused
	// cannot make up for it, long enough to hold some requests of a slow lane.
	loadWindow = time.Second
	// minDelivered is the share of a window's requests that must have been sent.
	minDelivered = 0.95
	// minRequests is how many requests of a lane must have been sent: of fewer, 3 % may fail unseen (see upperBound95).
	minRequests = 100
	// maxClockUncertainty bounds how far a worker's clock may be off: a tenth of a window, so that requests are laid
	// against the right phase and the right stage of a fault.
	maxClockUncertainty = loadWindow / 10
)

// never is a moment that does not come.
const never = history.Offset(1<<63 - 1)

// facts are what several promises ask of a record, computed once.
type facts struct {
	run    history.Run
	phases map[history.PhaseName]history.PhaseSpan // the first of each name
	faults []history.FaultLife
	gaps   []history.Event // of the watches that promises read: Kubernetes Events are kept for the reader of a report
	noise  noise
	memo   map[any]any // see memoize
	// onRequest is given each request that was due under load, before promises are.
	onRequest []func(*history.Request)

	objects []history.Event // see inOneOrder; nil: not yet asked for
}

func newFacts(run history.Run) *facts {
	f := &facts{run: run, memo: make(map[any]any), phases: make(map[history.PhaseName]history.PhaseSpan), faults: run.Faults()}
	slices.SortStableFunc(f.faults, func(a, b history.FaultLife) int { return cmp.Compare(a.ID, b.ID) })
	for _, p := range run.Phases() {
		if _, again := f.phases[p.Name]; !again {
			f.phases[p.Name] = p
		}
	}
	for _, e := range run.Events {
		if e.Gap != nil && e.Gap.What != "events" && e.Gap.What != "leases" {
			f.gaps = append(f.gaps, e)
		}
	}
	f.hear()
	return f
}

// memoize gives what was built of a record under a key before, or builds it.
func memoize[T any](f *facts, key any, build func() T) T {
	if had, ok := f.memo[key]; ok {
		return had.(T)
	}
	built := build()
	f.memo[key] = built
	return built
}

// underLoad is the time in which requests count.
func (f *facts) underLoad() (from, to history.Offset) { return f.run.UnderLoad() }

// begin is the moment from which on the cluster is judged: of Deploy, or of the first phase where there is none.
func (f *facts) begin() history.Offset {
	if p, ok := f.phases[history.Deploy]; ok {
		return p.From
	}
	return f.phases[history.Steady].From
}

// steady is the moment from which on what faults do is judged. What a watch missed, or told late, and had made up for by then, is not
// about them: the objects are known again, and nothing was done yet.
func (f *facts) steady() history.Offset { return f.phases[history.Steady].From }

// end is the end of Recovered, or of the record where it was cut off before.
func (f *facts) end() history.Offset {
	if p, ok := f.phases[history.Drained]; ok {
		return p.From
	}
	if n := len(f.run.Events); n > 0 {
		return f.run.Events[n-1].T
	}
	return 0
}

// record doubts a record that is not whole, or of a run that did not go as it should. Gaps count from the given moment, those
// that were bridged, too: when something happened is not known of them.
func (f *facts) record(from history.Offset) (d doubts) {
	return append(f.inOrder(from), f.late(from)...)
}

// inOrder is record for promises that late news of a change does not make easier to keep: those that ask for the order of
// changes alone, or how soon something was over. They judge gaps that were bridged, and for a violation see blind.
func (f *facts) inOrder(from history.Offset) (d doubts) {
	if f.run.Incomplete != "" {
		d.add("the record is not whole: %s", f.run.Incomplete)
	}
	last := history.Offset(-1)
	for _, name := range []history.PhaseName{history.Steady, history.Disturbed, history.Recovered, history.Drained} {
		p, ok := f.phases[name]
		switch {
		case !ok:
			d.add("there is no phase %s in the record", name)
		case p.From < last:
			d.add("phase %s begins at %s, before the one that precedes it", name, moment(p.From))
		}
		last = p.From
	}
	d = append(d, f.sensible()...)
	d = append(d, f.heard(from)...)
	for _, e := range f.run.Troubles() {
		d.add("trouble at %s: %s", moment(e.T), e.Trouble.What)
	}
	for _, e := range f.gaps {
		if !e.Gap.Bridged && e.Gap.Since < f.end() && e.T >= from {
			d.add("the watch of %s was blind from %s to %s: %s", e.Gap.What, moment(e.Gap.Since), moment(e.T), e.Gap.Why)
		}
	}
	return d
}

// clocks doubts workers whose clocks were not mapped to the run's well enough.
func (f *facts) clocks(workers []string) (d doubts) {
	worst := make(map[string]history.Offset)
	for _, e := range f.run.Events {
		if e.Clock != nil {
			worst[e.Clock.Worker] = max(worst[e.Clock.Worker], e.Clock.Uncertainty)
		}
	}
	for _, w := range workers {
		switch uncertainty, known := worst[w]; {
		case !known:
			d.add("the clock of %s was never compared with the run's", w)
		case uncertainty > maxClockUncertainty:
			d.add("the clock of %s may be off by %s, and %s is the most that tells phases apart",
				w, moment(uncertainty), moment(maxClockUncertainty))
		}
	}
	return d
}

// watchSkew is how far the record's order may differ from the API server's. Pods, budgets and evictions reach the
// record by different connections, each dated when it arrived, so what lies closer together may have happened the
// other way round. What one watch told is in order.
const watchSkew = time.Second

// PropagationSlack is what NodeLossLimit allows from the moment the control plane marks a lost node's pods as not ready
// to the moment no proxy sends anything to them: the EndpointSlice is written, every kube-proxy waits out its minimum
// of 1 s between two syncs, and syncs. A busy machine of two cores takes 2 s; the rest is margin.
const PropagationSlack = 3 * time.Second

// evictionReason is the DisruptionTarget reason of a pod that went by the eviction API.
//
// Source: https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
const evictionReason = "EvictionByEvictionAPI"

// clockError is how far the times of requests may be off the record's clock.
func (f *facts) clockError() (worst history.Offset) {
	for _, e := range f.run.Events {
		if e.Clock != nil {
			worst = max(worst, e.Clock.Uncertainty)
		}
	}
	return worst
}
