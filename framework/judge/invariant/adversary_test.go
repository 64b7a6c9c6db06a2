package invariant_test

import (
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// attack is an edit of a real record by which somebody would have a promise be Held that was not kept, or that nothing was
// seen of. Whatever finds a new way to a wrong verdict becomes a row here.
type attack struct {
	name string
	// kinds are the promises that are Held before and must not be afterwards.
	kinds []string
	// edit changes the record, with rows and totals that agree; false: the record has no place for it.
	edit func(*ht.Builder) bool
	// want are the verdicts that it may lead to.
	want []verdict.Outcome
}

var (
	onlyUnknown  = []verdict.Outcome{verdict.Unknown}
	onlyViolated = []verdict.Outcome{verdict.Violated}
	notHeld      = []verdict.Outcome{verdict.Violated, verdict.Unknown}
)

var aboutRequests = []string{"NoFailedRequests", "FewFailedRequests", "FailuresEndWithin", "AnswersWithin", "QuietWithin"}

var aboutObjects = []string{
	"BudgetHonoured", "Spread", "SpreadTogether", "SpreadTrials", "SpreadWithin", "PerDomain", "RecoversWithin", "ReplacedWithin",
	"DrainBlocked", "DrainCompletes", "RolloutCompletes", "PressureLeaves", "ResizedInPlace",
}

var attacks = []attack{
	{"nothing is sent for a second while the fault is on", aboutRequests, standsStill, onlyUnknown},
	{"nothing is sent on one lane for a second while the fault is on", []string{"NoFailedRequests", "FewFailedRequests"}, oneLaneStandsStill, onlyUnknown},
	{"the victims had answered nothing before", []string{"NoFailedRequests", "FewFailedRequests", "FailuresEndWithin"}, avoidsVictims, onlyUnknown},
	{"no answer names a pod", []string{"NoFailedRequests", "FewFailedRequests", "FailuresEndWithin", "AnswersWithin"}, namesNoPod, onlyUnknown},
	{"no answer names a pod, and the record has no workload", []string{"NoFailedRequests", "FewFailedRequests", "FailuresEndWithin", "AnswersWithin"}, func(b *ht.Builder) bool {
		return namesNoPod(noWorkload(b))
	}, onlyUnknown},
	{"every victim's failure is blamed on a pod that was not touched", []string{"FailuresEndWithin"}, innocentsFail, notHeld},
	{"the witness looks eight seconds late, and failures last as much longer", []string{"FailuresEndWithin"}, looksLate, notHeld},
	{"failures go on until the load ends", []string{"FailuresEndWithin"}, failsOn, onlyViolated},
	{"a watch of pods hears nothing any more, and does not know it", []string{"NoFailedRequests", "FewFailedRequests", "BudgetHonoured", "RecoversWithin",
		"ReplacedWithin", "PressureLeaves", "DrainCompletes", "RolloutCompletes", "ResizedInPlace"}, deafToPods, notHeld},
	{"the fault is over before it is undone", slices.Concat(aboutRequests, aboutObjects), overEarly, onlyUnknown},
	{"the fault is told of before load flows", []string{"NoFailedRequests", "FewFailedRequests", "FailuresEndWithin"}, faultBeforeLoad, notHeld},
	{"the load begins when the fault is over", []string{"NoFailedRequests", "FewFailedRequests", "FailuresEndWithin"}, loadAfterFault, notHeld},
	{"a second of rows is gone, and every count agrees", []string{"NoFailedRequests", "FewFailedRequests", "FailuresEndWithin"}, losesASecond, onlyUnknown},
	{"failures are not supported here", []string{"NoFailedRequests", "FewFailedRequests"}, excusedAsNotSupported, onlyViolated},
	{"two phases change places", slices.Concat(aboutRequests, aboutObjects), phasesSwapped, onlyUnknown},
}

// TestAttacks makes every edit in every record of which a promise that it is about is held.
func TestAttacks(t *testing.T) {
	held := heldRecords(t)
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			tried := 0
			for _, h := range held {
				if !slices.Contains(a.kinds, invariant.Kind(h.promise())) {
					continue
				}
				b := h.record.Copy()
				if !a.edit(materialise(b)) {
					continue
				}
				tried++
				if v := judge.CheckAll(b.Run(), []invariant.Invariant{h.promise()})[0]; !slices.Contains(a.want, v.Outcome) {
					t.Errorf("%s: %s is %s, not one of %s: %s", h.name, v.Kind, v.Outcome, a.want, v.Seen)
				}
			}
			if tried == 0 {
				t.Error("there is no record for it")
			}
		})
	}
}

// fault is the first of a record.
func fault(b *ht.Builder) timeline.FaultLife { return timeline.Faults(b.Run())[0] }

// restart moves what was due in a time to its end, as a worker that stood still does it.
func restart(b *ht.Builder, from, to history.Offset, of func(history.Lane) bool) bool {
	if to > fault(b).Healed.At {
		return false
	}
	n := history.Offset(0)
	b.EditRequests(func(r *history.Request) {
		if r.Sent >= from && r.Sent < to && of(r.Lane) && r.Outcome != history.Unsent {
			took := r.Done - r.Sent
			r.Sent = to + n*20_000
			r.Done = r.Sent + took
			n++
		}
	})
	return n > 0
}

func standsStill(b *ht.Builder) bool {
	at := fault(b).Injecting.At
	return restart(b, at+100*ms, at+1050*ms, func(history.Lane) bool { return true })
}

func oneLaneStandsStill(b *ht.Builder) bool {
	at := fault(b).Injecting.At
	return restart(b, at+100*ms, at+1050*ms, func(l history.Lane) bool { return l == history.LaneFresh })
}

// victims tells of the pods that the first fault touched: those it names, and those of its nodes.
func victims(b *ht.Builder) func(pod, node string) bool {
	f := fault(b)
	return func(pod, node string) bool { return slices.Contains(f.Pods, pod) || slices.Contains(f.Nodes, node) }
}

func avoidsVictims(b *ht.Builder) bool {
	is, seen := victims(b), fault(b).Seen.At
	var other *history.Request
	for i, r := range b.Requests() {
		if r.Pod != "" && !is(r.Pod, r.Node) && r.Outcome == history.OK && r.Lane != history.LaneControl {
			other = &b.Requests()[i]
			break
		}
	}
	if other == nil {
		return false
	}
	n := 0
	b.EditRequests(func(r *history.Request) {
		if is(r.Pod, r.Node) && r.Sent < seen && r.Outcome == history.OK && r.Lane != history.LaneControl {
			r.Pod, r.Node, r.Zone, r.Revision = other.Pod, other.Node, other.Zone, other.Revision
			n++
		}
	})
	return n > 0
}

// namesNoPod takes the pods out of all answers, if a victim had answered.
func namesNoPod(b *ht.Builder) bool {
	is, seen := victims(b), fault(b).Seen.At
	met := false
	for _, r := range b.Requests() {
		met = met || is(r.Pod, r.Node) && r.Sent < seen && r.Outcome == history.OK && r.Lane != history.LaneControl
	}
	nameless(b, func(history.Request) bool { return true })
	return met
}

// innocentsFail gives the failures of an outage to connections that pods which the fault did not touch had answered on.
func innocentsFail(b *ht.Builder) bool {
	is := victims(b)
	from, n := fault(b).Seen.At, 0
	b.EditRequests(func(r *history.Request) {
		if r.Outcome == history.OK && r.Pod != "" && !is(r.Pod, r.Node) && r.Lane != history.LaneControl && r.Seq%3 == 0 &&
			r.Due >= from && r.Due < from+8*second {
			r.Outcome, r.Status = history.BadStatus, 503
			n++
		}
	})
	return n > 0
}

func looksLate(b *ht.Builder) bool {
	f := fault(b)
	if len(f.Nodes) == 0 || !f.Healing.OK {
		return false
	}
	moved := f.Seen.At + 8*second
	if moved >= f.Healing.At {
		return false
	}
	b.EditEvents(func(e *history.Event) {
		if e.Fault != nil && e.Fault.ID == f.ID && e.Fault.Stage == history.Seen {
			e.T = moved
		}
	})
	return prolong(b, moved+11*second)
}

func failsOn(b *ht.Builder) bool {
	_, to := b.Run().UnderLoad()
	return prolong(b, to)
}

// prolong fails every sixth new connection from the first failure on.
func prolong(b *ht.Builder, to history.Offset) bool {
	first := history.Offset(1<<63 - 1)
	for _, r := range b.Requests() {
		if r.Outcome.Failed() {
			first = min(first, r.Sent)
		}
	}
	n := 0
	b.EditRequests(func(r *history.Request) {
		if r.Lane == history.LaneFresh && r.Outcome == history.OK && r.Sent >= first && r.Due < to && r.Seq%6 == 0 {
			r.Outcome, r.Status, r.Pod, r.Node, r.Zone, r.Revision = history.TimeoutConnect, 0, "", "", "", ""
			r.Done = r.Sent + second
			n++
		}
	})
	return n > 0
}

func deafToPods(b *ht.Builder) bool {
	from, n := fault(b).Injecting.At, 0
	b.DropEvents(func(e history.Event) bool {
		if e.Pod != nil && e.T >= from {
			n++
			return true
		}
		return false
	})
	return n > 0
}

func overEarly(b *ht.Builder) bool {
	f := fault(b)
	if !f.Healing.OK || !f.Healed.OK {
		return false
	}
	b.EditEvents(func(e *history.Event) {
		if e.Fault != nil && e.Fault.ID == f.ID && e.Fault.Stage == history.Healed {
			e.T = f.Seen.At + (f.Healing.At-f.Seen.At)/2
		}
	})
	return f.Healing.At-f.Seen.At > 2
}

// faultBeforeLoad tells of all stages of all faults just before Steady.
func faultBeforeLoad(b *ht.Builder) bool {
	from, _ := b.Run().UnderLoad()
	n := history.Offset(0)
	b.EditEvents(func(e *history.Event) {
		if e.Fault != nil {
			e.T = from - second + n*ms
			n++
		}
	})
	return n > 0
}

// loadAfterFault moves the beginning of every phase but the last past the faults.
func loadAfterFault(b *ht.Builder) bool {
	var healed, drained history.Offset
	for _, f := range timeline.Faults(b.Run()) {
		healed = max(healed, f.Healed.At)
	}
	_, drained = b.Run().UnderLoad()
	if healed+second >= drained {
		return false
	}
	n := history.Offset(0)
	b.EditEvents(func(e *history.Event) {
		if e.Phase != nil && slices.Contains([]history.PhaseName{history.Steady, history.Disturbed, history.Recovered}, e.Phase.Name) {
			n++
			e.T = healed + n*100*ms
		}
	})
	return true
}

// losesASecond drops the rows of a second in which the fault was on, numbers the rest from 0 and counts them.
func losesASecond(b *ht.Builder) bool {
	at := fault(b).Injecting.At
	before := len(b.Requests())
	b.DropRequests(func(r history.Request) bool { return r.Due >= at && r.Due < at+second && r.Lane != history.LaneControl })
	type key struct {
		worker string
		lane   history.Lane
	}
	next := make(map[key]uint64)
	rows := b.Requests()
	order := make([]*history.Request, len(rows))
	for i := range rows {
		order[i] = &rows[i]
	}
	slices.SortStableFunc(order, func(a, b *history.Request) int { return int(a.Due - b.Due) })
	for _, r := range order {
		k := key{r.Worker, r.Lane}
		r.Seq = next[k]
		next[k]++
	}
	b.Retotal()
	return len(rows) < before
}

// excusedAsNotSupported fails requests, and says of the fault that the kernel cannot do it.
func excusedAsNotSupported(b *ht.Builder) bool {
	n := 0
	b.EditRequests(func(r *history.Request) {
		if r.Outcome == history.OK && r.Lane == history.LaneFresh && r.Seq%20 == 0 {
			r.Outcome, r.Status = history.Refused, 0
			n++
		}
	})
	b.EditEvents(func(e *history.Event) {
		if e.Fault != nil && e.Fault.Stage == history.Seen {
			e.Fault.Error, e.Fault.NotSupported = "not supported", "Error: Specified qdisc kind is unknown."
		}
	})
	return n > 0
}

func phasesSwapped(b *ht.Builder) bool {
	b.EditEvents(func(e *history.Event) {
		if e.Phase == nil {
			return
		}
		switch e.Phase.Name {
		case history.Steady:
			e.Phase = &history.Phase{Name: history.Recovered}
		case history.Recovered:
			e.Phase = &history.Phase{Name: history.Steady}
		}
	})
	return true
}
