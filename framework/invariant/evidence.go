package invariant

import (
	"cmp"
	"fmt"
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

// doubts are the reasons why the evidence is not there. None: it is.
type doubts []string

func (d *doubts) add(format string, args ...any) { *d = append(*d, fmt.Sprintf(format, args...)) }

// facts are what several promises ask of a record, computed once.
type facts struct {
	run    history.Run
	phases map[history.PhaseName]history.PhaseSpan // the first of each name
	faults []history.FaultLife
	gaps   []history.Event // of the watches that promises read: Kubernetes Events are kept for the reader of a report
	noise  noise
	lives  *lives // once they are asked for: see theLives

	objects []history.Event // see inOneOrder; nil: not yet asked for
}

func newFacts(run history.Run) *facts {
	f := &facts{run: run, phases: make(map[history.PhaseName]history.PhaseSpan), faults: run.Faults()}
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

// late doubts when something happened that a watch told of only at the end of a gap.
func (f *facts) late(from history.Offset) (d doubts) {
	for _, e := range f.gaps {
		if e.Gap.Bridged && e.Gap.Since < f.end() && e.T >= from {
			d.add("the watch of %s was late from %s to %s: %s", e.Gap.What, moment(e.Gap.Since), moment(e.T), e.Gap.Why)
		}
	}
	return d
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

// blind tells whether a watch may have missed something within the skew of a moment, or told it late. What the record says of
// such a moment breaks no promise: something else may have been the case. Only gaps that are doubts of their own count.
func (f *facts) blind(at history.Offset) bool {
	return slices.ContainsFunc(f.gaps, f.hides(at))
}

// toldLate tells whether what the record says of a moment may have been told late.
func (f *facts) toldLate(at history.Offset) bool {
	hides := f.hides(at)
	return slices.ContainsFunc(f.gaps, func(e history.Event) bool { return e.Gap.Bridged && hides(e) })
}

// hides tells of a gap whether it may hide what was the case at a moment.
func (f *facts) hides(at history.Offset) func(history.Event) bool {
	begin, end := f.begin(), f.end()
	return func(e history.Event) bool {
		return e.Gap.Since < end && e.T >= begin && e.Gap.Since <= at+watchSkew && at-watchSkew <= e.T
	}
}

// faultsBit doubts faults that were not seen to be in force between the moment they were injected and the moment they
// were undone. Unless mustHeal, a fault that nobody tried to undo is as good as one that was.
func (f *facts) faultsBit(mustHeal bool) (d doubts) {
	if len(f.faults) == 0 {
		d.add("no fault was injected")
	}
	for _, fault := range f.faults {
		switch {
		case len(fault.Errors) > 0:
			d.add("%s went wrong: %s", fault.Name, fault.Errors[0])
		case !fault.Injecting.OK:
			d.add("%s has no beginning in the record", fault.Name)
		case !fault.Seen.OK:
			d.add("%s was never seen to bite", fault.Name)
		case !fault.Healed.OK && (mustHeal || fault.Healing.OK):
			d.add("%s was never seen to be healed", fault.Name)
		default:
			f.lasted(fault, &d)
		}
	}
	return d
}

// lasted doubts a fault that was over before the harness undid it.
func (f *facts) lasted(fault history.FaultLife, d *doubts) {
	undone := fault.Healing
	if !undone.OK {
		undone = history.Moment{At: f.end(), OK: true}
	}
	switch healed := f.firstHealed(fault.ID); {
	case fault.Seen.At < fault.Injecting.At:
		d.add("%s was seen at %s, before it was injected at %s", fault.Name, moment(fault.Seen.At), moment(fault.Injecting.At))
	case fault.Seen.At > undone.At:
		d.add("%s was seen at %s, after its undo began at %s", fault.Name, moment(fault.Seen.At), moment(undone.At))
	case healed.OK && !fault.Healing.OK:
		d.add("%s healed by itself at %s: no undo is in the record", fault.Name, moment(healed.At))
	case healed.OK && healed.At < undone.At:
		d.add("%s healed too early: at %s, before its undo began", fault.Name, moment(healed.At))
	}
	for _, node := range fault.Nodes {
		if back := f.backEarly(node, fault.Injecting.At, undone.At); back.OK {
			d.add("%s healed too early: %s was back at %s, before its undo began at %s",
				fault.Name, node, moment(back.At), moment(undone.At))
		}
	}
}

// firstHealed is the first time a fault was seen as healed; FaultLife has the last.
func (f *facts) firstHealed(id int) history.Moment {
	for _, e := range f.run.Events {
		if e.Fault != nil && e.Fault.ID == id && e.Fault.Stage == history.Healed && e.Fault.Error == "" {
			return history.Moment{At: e.T, OK: true}
		}
	}
	return history.Moment{}
}

// backEarly is when a node that had been taken away, closed to new pods or put under pressure after from was usable again
// before to. Of one that was put under pressure nothing else counts: its kubelet is restarted for that, and may not be ready
// for a moment.
func (f *facts) backEarly(name string, from, to history.Offset) history.Moment {
	taken, squeezed := false, slices.Contains(pressed(f.run, from, to), name)
	for _, e := range f.run.Events {
		n := e.Node
		if n == nil || n.Name != name || e.T < from || e.T >= to {
			continue
		}
		usable := n.Change != history.Deleted && n.Ready == "True" && !n.Unschedulable
		if squeezed {
			usable = !n.UnderPressure()
		}
		if taken && usable {
			return history.Moment{At: e.T, OK: true}
		}
		taken = taken || !usable
	}
	return history.Moment{}
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
