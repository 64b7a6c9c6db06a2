package invariant_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// attack is an edit of a record by which a promise would be Held that was not kept, or that nothing was seen of. What finds a new way to a wrong verdict
// becomes a row here.
type attack struct {
	name string
	// kinds are the promises that are Held before and must not be afterwards; none: all, each of one record.
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

var (
	noFailures    = []string{"NoFailedRequests", "FewFailedRequests"}
	aboutFailures = []string{"NoFailedRequests", "FewFailedRequests", "FailuresEndWithin"}
	aboutRequests = []string{"NoFailedRequests", "FewFailedRequests", "FailuresEndWithin", "AnswersWithin", "QuietWithin"}
	aboutPods     = []string{"NoFailedRequests", "FewFailedRequests", "BudgetHonoured", "RecoversWithin", "ReplacedWithin", "PressureLeaves", "DrainCompletes",
		"RolloutCompletes", "ResizedInPlace"}
)

// attacks are made on scenarios.
var attacks = []attack{
	{"nothing is sent for a second while the fault is on", aboutRequests, func(b *ht.Builder) bool { return standsStill(b, everyLane) }, onlyUnknown},
	{"nothing is sent on one lane for a second while the fault is on", noFailures, func(b *ht.Builder) bool {
		return standsStill(b, func(l history.Lane) bool { return l == history.LaneFresh })
	}, onlyUnknown},
	{"the victims had answered nothing before", aboutFailures, avoidsVictims, onlyUnknown},
	{"no answer names a pod", slices.Concat(aboutFailures, []string{"AnswersWithin"}), namesNoPod, onlyUnknown},
	{"no answer names a pod, and the record has no workload", slices.Concat(aboutFailures, []string{"AnswersWithin"}), func(b *ht.Builder) bool {
		return namesNoPod(noWorkload(b))
	}, onlyUnknown},
	{"every victim's failure is blamed on a pod that was not touched", []string{"FailuresEndWithin"}, innocentsFail, notHeld},
	{"the witness looks eight seconds late, and failures last as much longer", []string{"FailuresEndWithin"}, looksLate, notHeld},
	{"failures go on until the load ends", []string{"FailuresEndWithin"}, func(b *ht.Builder) bool {
		_, to := b.Run().UnderLoad()
		return prolong(b, to)
	}, onlyViolated},
	{"a watch of pods hears nothing any more, and does not know it", aboutPods, func(b *ht.Builder) bool {
		from := fault(b).Injecting.At
		return takesAway(b, func(e history.Event) bool { return e.Pod != nil && e.T >= from })
	}, notHeld},
	{"the fault is told of before load flows", aboutFailures, faultBeforeLoad, notHeld},
	{"the load begins when the fault is over", aboutFailures, loadAfterFault, notHeld},
	{"a second of rows is gone, and every count agrees", aboutFailures, func(b *ht.Builder) bool { return losesASecond(b, fault(b).Injecting.At) }, onlyUnknown},
	{"failures are not supported here", noFailures, excusedAsNotSupported, onlyViolated},
	{"two phases change places", nil, phasesSwapped, onlyUnknown},

	// A fault that was not, or not for long enough, proves nothing, however good all else looks.
	{"the fault is over before it is undone", nil, func(b *ht.Builder) bool {
		f := fault(b)
		b.EditEvents(func(e *history.Event) {
			if e.Fault != nil && e.Fault.ID == f.ID && e.Fault.Stage == history.Healed {
				e.T = f.Seen.At + (f.Healing.At-f.Seen.At)/2
			}
		})
		return f.Healing.OK && f.Healed.OK && f.Healing.At-f.Seen.At > 2
	}, onlyUnknown},
	{"an injector does nothing", nil, marks(func(m *history.FaultMark) {
		if m.Stage == history.Seen { // as the runner writes what Inject returns
			*m = history.FaultMark{ID: m.ID, Name: m.Name, Stage: history.Seen, Error: "waited 30s"}
		}
	}), notHeld},
	{"a witness never saw it", nil, withoutStages(history.Seen), notHeld},
	{"a witness no longer sees it", nil, func(b *ht.Builder) bool { return lasting(b, "it was over before its revert began: gone") }, notHeld},
	{"a witness could not look", nil, func(b *ht.Builder) bool { return lasting(b, "waited 30s for a look") }, notHeld},
	{"a witness never saw it healed", nil, withoutStages(history.Healed), notHeld},
	{"a fault of which only the end is told", nil, withoutStages(history.Injecting, history.Seen), notHeld},
	{"no fault", nil, withoutStages(history.Injecting, history.Seen, history.Lasting, history.Healing, history.Healed), notHeld},

	// What may be written into a record by hand, with checksums that are right.
	{"a sample of noise that is less than nothing", nil, adds(history.Event{Noise: &history.Noise{Of: history.NoiseHarness, Pause: -ms}}), notHeld},
	{"a change that came back before it was made", nil, adds(history.Event{Echo: &history.Echo{Sent: 1 << 60}}), notHeld},
	{"a gap that ends before it begins", nil, adds(history.Event{Gap: &history.Gap{What: "pods", Since: 1 << 60, Bridged: true}}), notHeld},
	{"a clock that is better than right", nil, adds(history.Event{Clock: &history.Clock{Worker: ht.Worker, Uncertainty: -ms}}), notHeld},
	{"a phase that begins again", nil, adds(history.Event{Phase: &history.Phase{Name: history.Steady}}), notHeld},
	{"a fault that is injected twice", nil, addsStage(history.Injecting), notHeld},
	{"a fault that is seen twice", nil, addsStage(history.Seen), notHeld},
	{"an undo that begins twice", nil, addsStage(history.Healing), notHeld},
	{"a stage that no fault has", nil, addsStage("bitten"), notHeld},
	{"a witness that was asked after the revert began", nil, func(b *ht.Builder) bool {
		f := fault(b)
		_, to := b.Run().UnderLoad()
		return !f.Lasting.OK && f.Healing.OK && f.Healing.At < to-ms && addsStage(history.Lasting)(b)
	}, notHeld},
	{"a fault of two names", nil, func(b *ht.Builder) bool {
		return adds(history.Event{Fault: &history.FaultMark{ID: fault(b).ID, Name: "tea", Stage: history.Healed}})(b)
	}, notHeld},
	{"the harness has trouble", nil, func(b *ht.Builder) bool {
		b.Trouble(fault(b).Seen.At, "the load worker was restarted")
		return true
	}, notHeld},
}

// recordingAttacks are made on recordings.
var recordingAttacks = []attack{
	{"every disturbance is lost: the objects stay as they were", nil, staysAsItWas, notHeld},
	{"the watch of pods hears nothing any more", []string{"NoFailedRequests", "BudgetHonoured", "RecoversWithin"}, func(b *ht.Builder) bool {
		shown := shownIn(b)
		if slices.ContainsFunc(shown, func(d disturbances.Disturbance) bool {
			return d.Kind == disturbances.Scale || d.Kind == disturbances.NodeLost
		}) {
			return false // what other watches see, too
		}
		return takesAway(b, func(e history.Event) bool { return e.Pod != nil && e.T >= shown[0].From })
	}, notHeld},
	{"the load begins when all is over", nil, func(b *ht.Builder) bool {
		over := lastOver(b)
		_, to := b.Run().UnderLoad()
		movePhase(b, history.Steady, over+ms)
		return over+ms < to
	}, onlyUnknown},
	{"the load ends before anything is disturbed", nil, func(b *ht.Builder) bool {
		movePhase(b, history.Drained, shownIn(b)[0].From-ms)
		return true
	}, onlyUnknown},
	{"faults of holdfast's own are put in", nil, func(b *ht.Builder) bool {
		d := shownIn(b)[0]
		for _, stage := range []history.FaultStage{history.Injecting, history.Seen, history.Healing, history.Healed} {
			b.Fault(d.From, history.FaultMark{Name: "it", Stage: stage})
		}
		return true
	}, onlyUnknown},
	{"a disturbance is invented in a recording of nothing: a pod that served nobody", aboutRequests, inventsAPod, notHeld},
	{"the requests end somewhere else", aboutRequests, askedFor(func(r *history.Recorded) { r.Services = []string{"elsewhere/web"} }), notHeld},
	{"nobody says where the requests end", aboutRequests, askedFor(func(r *history.Recorded) { r.Services = nil }), onlyUnknown},
	{"nothing is sent for a second while it is disturbed", aboutRequests, func(b *ht.Builder) bool {
		at := shownIn(b)[0].From
		return restart(b, at, at+1200*ms, everyLane)
	}, onlyUnknown},
	{"the victims had answered nothing before", aboutRequests, func(b *ht.Builder) bool {
		taken := make(map[string]bool)
		for _, d := range shownIn(b) {
			for _, p := range d.Pods {
				taken[p.Name] = true
			}
		}
		return answersElsewhere(b, func(r *history.Request) bool { return taken[r.Pod] }, timeline.Never)
	}, onlyUnknown},
	{"a second of rows is gone, and every count agrees", aboutRequests, func(b *ht.Builder) bool { return losesASecond(b, shownIn(b)[0].Seen) }, onlyUnknown},
	{"it is no recording any more", nil, func(b *ht.Builder) bool {
		b.Header(func(h *history.Header) { h.Recorded = nil })
		return true
	}, notHeld},
	{"a command is said to have run, and nothing says when", nil, askedFor(func(r *history.Recorded) { r.Command = []string{"./upgrade.sh"} }), onlyUnknown},
	{"pods are said not to have been watched", nil, askedFor(func(r *history.Recorded) {
		r.NotWatched = []history.NotWatched{{What: "pods", Why: "forbidden"}}
	}), onlyUnknown},
	{"every eviction is said to be a lost node's", []string{"BudgetHonoured"}, func(b *ht.Builder) bool {
		b.EditEvents(func(e *history.Event) {
			if e.Pod != nil && e.Pod.Disruption == evidence.EvictionReason {
				e.Pod.Disruption = "DeletionByTaintManager"
			}
		})
		return true
	}, onlyUnknown},
	{"failures go on until the load ends", aboutRequests, func(b *ht.Builder) bool {
		at := shownIn(b)[0].Seen
		return editsSome(b, func(r *history.Request) bool {
			return r.Lane != history.LaneControl && r.Outcome == history.OK && r.Sent >= at && r.Seq%6 == 0
		}, func(r *history.Request) { r.Outcome, r.Status = history.BadStatus, 503 })
	}, onlyViolated},
}

// TestAttacks makes every edit in every record of which a promise that it is about is held, and those about all promises in a record of each kind.
func TestAttacks(t *testing.T) { makeAttacks(t, attacks, heldRecords(t), true) }

func TestAttacksOnRecordings(t *testing.T) {
	makeAttacks(t, recordingAttacks, heldRecordings(t), false)
}

func makeAttacks(t *testing.T, attacks []attack, held []heldRecord, scenarios bool) {
	t.Helper()
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			tried := make(map[string]bool)
			for _, h := range held {
				kind := invariant.Kind(h.promise())
				if len(a.kinds) > 0 && !slices.Contains(a.kinds, kind) || len(a.kinds) == 0 && scenarios && tried[kind] {
					continue
				}
				b := h.record.Copy()
				if scenarios && len(timeline.Faults(b.Run())) == 0 || !a.edit(materialise(b)) {
					continue
				}
				tried[kind] = true
				if v := judge.CheckAll(b.Run(), []invariant.Invariant{h.promise()})[0]; !slices.Contains(a.want, v.Outcome) {
					t.Errorf("%s: %s is %s, not one of %s: %s", h.name, v.Kind, v.Outcome, a.want, v.Seen)
				}
			}
			if len(tried) == 0 {
				t.Error("there is no record for it")
			}
		})
	}
}

// TestAnEventBeforeTheBeginning leaves no promise of any kind Held.
func TestAnEventBeforeTheBeginning(t *testing.T) {
	for _, h := range heldRecords(t) {
		run := h.record.Copy().Run()
		run.Events = slices.Clone(run.Events)
		run.Events[len(run.Events)/2].T = -1
		if v := judge.Check(run, h.promise()); v.Outcome == verdict.Held {
			t.Errorf("%s: %s: %s", h.name, v.Kind, v.Seen)
		}
	}
}

// TestPromisesOfTheFuture: what this version cannot read is Unknown, and says so.
func TestPromisesOfTheFuture(t *testing.T) {
	_, whole := unpackGolden(t, "drain-one-worker")
	for says, edit := range map[string]func(*history.Promise){
		`this version of holdfast does not know kind "Eternity"`: func(p *history.Promise) { p.Kind = "Eternity" },
		"unknown field":     func(p *history.Promise) { p.Params = []byte(`{"mostly":true}`) },
		"invalid character": func(p *history.Promise) { p.Params = []byte(`{"limit":NaN}`) },
	} {
		run := whole
		run.Header.Promises = slices.Clone(whole.Header.Promises)
		edit(&run.Header.Promises[0])
		if v := judge.Judge(run)[0]; v.Outcome != verdict.Unknown || !strings.Contains(v.Seen, says) {
			t.Errorf("%s: %s: %s", says, v.Outcome, v.Seen)
		}
	}
}

// TestRowsThatMakeNoSense: one worker reads all three times of a request from one clock, so that they have an order.
func TestRowsThatMakeNoSense(t *testing.T) {
	for what, edit := range map[string]func(*history.Request){
		"sent before it was due":      func(r *history.Request) { r.Sent = r.Due - ms },
		"ended before it was sent":    func(r *history.Request) { r.Done = r.Sent - ms },
		"abandoned before it was due": func(r *history.Request) { r.Outcome, r.Done = history.Unsent, r.Due-ms },
	} {
		b := ht.Healthy().EditRequests(func(r *history.Request) {
			if r.Worker == ht.Worker && r.Lane == history.LaneFresh && r.Seq == 7 {
				edit(r)
			}
		}).Retotal()
		v := judge.Check(b.Run(), invariant.NoFailedRequests{})
		if v.Outcome != verdict.Unknown || !strings.Contains(v.Seen, "the record contradicts itself: request 7 of worker-0 on fresh") || !strings.Contains(v.Seen, what) {
			t.Errorf("%s: %s: %s", what, v.Outcome, v.Seen)
		}
	}
}

func everyLane(history.Lane) bool { return true }

// fault is the first of a record.
func fault(b *ht.Builder) timeline.FaultLife { return timeline.Faults(b.Run())[0] }

// shownIn are the disturbances that a recording shows.
func shownIn(b *ht.Builder) []disturbances.Disturbance { return disturbances.Read(b.Run()).Shown() }

func lastOver(b *ht.Builder) (at history.Offset) {
	for _, d := range shownIn(b) {
		at = max(at, d.Over, d.Seen)
	}
	return at
}

// editsSome edits the requests of a kind, and tells whether there were any.
func editsSome(b *ht.Builder, which func(*history.Request) bool, edit func(*history.Request)) bool {
	n := 0
	b.EditRequests(func(r *history.Request) {
		if which(r) {
			edit(r)
			n++
		}
	})
	return n > 0
}

func takesAway(b *ht.Builder, drop func(history.Event) bool) bool {
	before := len(b.Events())
	b.DropEvents(drop)
	return len(b.Events()) < before
}

func withoutStages(of ...history.FaultStage) func(*ht.Builder) bool {
	return func(b *ht.Builder) bool {
		return takesAway(b, func(e history.Event) bool { return e.Fault != nil && slices.Contains(of, e.Fault.Stage) })
	}
}

// marks edits what is told of faults.
func marks(edit func(*history.FaultMark)) func(*ht.Builder) bool {
	return func(b *ht.Builder) bool {
		b.EditEvents(func(e *history.Event) {
			if e.Fault != nil {
				edit(e.Fault)
			}
		})
		return true
	}
}

// lasting adds what the witness said just before the undo.
func lasting(b *ht.Builder, err string) bool {
	n := 0
	for _, e := range b.Run().Events {
		if e.Fault != nil && e.Fault.Stage == history.Healing {
			b.Fault(e.T-ms, history.FaultMark{ID: e.Fault.ID, Name: e.Fault.Name, Stage: history.Lasting, Error: err})
			n++
		}
	}
	return n > 0
}

// adds puts an event in as the last one under load.
func adds(e history.Event) func(*ht.Builder) bool {
	return func(b *ht.Builder) bool {
		added := e
		_, to := b.Run().UnderLoad()
		added.T = to - ms
		b.Event(added)
		return true
	}
}

// addsStage tells of a stage of the first fault once more.
func addsStage(stage history.FaultStage) func(*ht.Builder) bool {
	return func(b *ht.Builder) bool {
		f := fault(b)
		return adds(history.Event{Fault: &history.FaultMark{ID: f.ID, Name: f.Name, Stage: stage}})(b)
	}
}

// restart moves what was due in a time to its end, as a worker that stood still does it.
func restart(b *ht.Builder, from, to history.Offset, of func(history.Lane) bool) bool {
	n := history.Offset(0)
	return editsSome(b, func(r *history.Request) bool {
		return r.Sent >= from && r.Sent < to && of(r.Lane) && r.Outcome != history.Unsent
	}, func(r *history.Request) {
		took := r.Done - r.Sent
		r.Sent = to + n*20_000
		r.Done = r.Sent + took
		n++
	})
}

func standsStill(b *ht.Builder, of func(history.Lane) bool) bool {
	f := fault(b)
	at := f.Injecting.At
	return at+1050*ms <= f.Healed.At && restart(b, at+100*ms, at+1050*ms, of)
}

// victims tells of the pods that the first fault touched: those it names, and those of its nodes.
func victims(b *ht.Builder) func(pod, node string) bool {
	f := fault(b)
	return func(pod, node string) bool { return slices.Contains(f.Pods, pod) || slices.Contains(f.Nodes, node) }
}

func avoidsVictims(b *ht.Builder) bool {
	is, seen := victims(b), fault(b).Seen.At
	return answersElsewhere(b, func(r *history.Request) bool { return is(r.Pod, r.Node) }, seen)
}

// answersElsewhere gives the answers of victims before a moment to another pod.
func answersElsewhere(b *ht.Builder, victim func(*history.Request) bool, before history.Offset) bool {
	good := func(r *history.Request) bool { return r.Outcome == history.OK && r.Lane != history.LaneControl }
	var other history.Request
	for i := range b.Requests() {
		if r := &b.Requests()[i]; good(r) && r.Pod != "" && !victim(r) {
			other = *r
			break
		}
	}
	return other.Pod != "" && editsSome(b, func(r *history.Request) bool { return good(r) && victim(r) && r.Sent < before }, func(r *history.Request) {
		r.Pod, r.Node, r.Zone, r.Revision = other.Pod, other.Node, other.Zone, other.Revision
	})
}

// namesNoPod takes the pods out of all answers, if a victim had answered.
func namesNoPod(b *ht.Builder) bool {
	is, seen := victims(b), fault(b).Seen.At
	met := slices.ContainsFunc(b.Requests(), func(r history.Request) bool {
		return is(r.Pod, r.Node) && r.Sent < seen && r.Outcome == history.OK && r.Lane != history.LaneControl
	})
	nameless(b, func(history.Request) bool { return true })
	return met
}

// innocentsFail gives the failures of an outage to connections that pods which the fault did not touch had answered on.
func innocentsFail(b *ht.Builder) bool {
	is, from := victims(b), fault(b).Seen.At
	return editsSome(b, func(r *history.Request) bool {
		return r.Outcome == history.OK && r.Pod != "" && !is(r.Pod, r.Node) && r.Lane != history.LaneControl && r.Seq%3 == 0 && r.Due >= from && r.Due < from+8*second
	}, func(r *history.Request) { r.Outcome, r.Status = history.BadStatus, 503 })
}

func looksLate(b *ht.Builder) bool {
	f := fault(b)
	moved := f.Seen.At + 8*second
	if len(f.Nodes) == 0 || !f.Healing.OK || moved >= f.Healing.At {
		return false
	}
	b.EditEvents(func(e *history.Event) {
		if e.Fault != nil && e.Fault.ID == f.ID && e.Fault.Stage == history.Seen {
			e.T = moved
		}
	})
	return prolong(b, moved+11*second)
}

// prolong fails every sixth new connection from the first failure on.
func prolong(b *ht.Builder, to history.Offset) bool {
	first := history.Offset(1<<63 - 1)
	for _, r := range b.Requests() {
		if r.Outcome.Failed() {
			first = min(first, r.Sent)
		}
	}
	return editsSome(b, func(r *history.Request) bool {
		return r.Lane == history.LaneFresh && r.Outcome == history.OK && r.Sent >= first && r.Due < to && r.Seq%6 == 0
	}, func(r *history.Request) {
		r.Outcome, r.Status, r.Pod, r.Node, r.Zone, r.Revision = history.TimeoutConnect, 0, "", "", "", ""
		r.Done = r.Sent + second
	})
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
	var healed history.Offset
	for _, f := range timeline.Faults(b.Run()) {
		healed = max(healed, f.Healed.At)
	}
	_, drained := b.Run().UnderLoad()
	for i, phase := range []history.PhaseName{history.Steady, history.Disturbed, history.Recovered} {
		movePhase(b, phase, healed+history.Offset(i+1)*100*ms)
	}
	return healed+second < drained
}

func movePhase(b *ht.Builder, name history.PhaseName, to history.Offset) {
	b.EditEvents(func(e *history.Event) {
		if e.Phase != nil && e.Phase.Name == name {
			e.T = to
		}
	})
}

// losesASecond drops the rows of a second, numbers the rest from 0 and counts them.
func losesASecond(b *ht.Builder, at history.Offset) bool {
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
	marks(func(m *history.FaultMark) {
		if m.Stage == history.Seen {
			m.Error, m.NotSupported = "not supported", "Error: Specified qdisc kind is unknown."
		}
	})(b)
	return editsSome(b, func(r *history.Request) bool {
		return r.Outcome == history.OK && r.Lane == history.LaneFresh && r.Seq%20 == 0
	},
		func(r *history.Request) { r.Outcome, r.Status = history.Refused, 0 })
}

func phasesSwapped(b *ht.Builder) bool {
	swapped := map[history.PhaseName]history.PhaseName{history.Steady: history.Recovered, history.Recovered: history.Steady}
	b.EditEvents(func(e *history.Event) {
		if e.Phase != nil && swapped[e.Phase.Name] != "" {
			e.Phase = &history.Phase{Name: swapped[e.Phase.Name]}
		}
	})
	return true
}

// asked edits what was asked of a recording.
func asked(b *ht.Builder, edit func(*history.Recorded)) {
	b.Header(func(h *history.Header) {
		h.Recorded = new(*h.Recorded) // the records of a test share it
		edit(h.Recorded)
	})
}

func askedFor(edit func(*history.Recorded)) func(*ht.Builder) bool {
	return func(b *ht.Builder) bool {
		asked(b, edit)
		return true
	}
}

// staysAsItWas takes away what changed under load.
func staysAsItWas(b *ht.Builder) bool {
	from, _ := b.Run().UnderLoad()
	return takesAway(b, func(e history.Event) bool {
		return e.T >= from && (e.Pod != nil || e.Node != nil || e.Workload != nil || e.Slice != nil || e.Budget != nil || e.KubeNote != nil)
	})
}

func podsOf(b *ht.Builder) (list []history.Pod) {
	for _, e := range b.Events() {
		if e.Pod != nil && e.Pod.Ready && len(e.Pod.Labels) > 0 {
			list = append(list, *e.Pod)
		}
	}
	return list
}

func inventsAPod(b *ht.Builder) bool {
	from, to := b.Run().UnderLoad()
	pods := podsOf(b)
	staysAsItWas(b)
	if len(pods) == 0 {
		return false
	}
	p := pods[0]
	p.Name, p.UID, p.Change, p.Ready, p.Rules = "invented", "uid-invented", history.Added, false, nil
	at := from + (to-from)/2
	b.Pod(at, p)
	p.Change, p.Deleting = history.Modified, true
	b.Pod(at+ms, p)
	p.Change = history.Deleted
	b.Pod(at+2*ms, p)
	return true
}
