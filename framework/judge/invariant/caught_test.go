package invariant_test

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// onGolden is a golden run whose mutant says what today's say: the parameters of its promise, its lanes and its cause.
func onGolden(t *testing.T, name, params, cause string, lanes ...history.Lane) history.Run {
	t.Helper()
	_, run := unpackGolden(t, name)
	m := *run.Header.Mutant
	m.Params, m.Cause, m.Lanes = json.RawMessage(params), cause, lanes
	run.Header.Mutant = &m
	return run
}

// withRequests edits the requests of a record.
func withRequests(run history.Run, edit func(*history.Request)) history.Run {
	whole := run.Requests
	run.Requests = func() iter.Seq2[*history.Request, error] {
		return func(yield func(*history.Request, error) bool) {
			for r, err := range whole() {
				if err == nil {
					copied := *r
					r = &copied
					edit(r)
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
	return run
}

// withEvents edits copies of the events of a record.
func withEvents(run history.Run, edit func(*history.Event)) history.Run {
	run.Events = slices.Clone(run.Events)
	for i := range run.Events {
		if f := run.Events[i].Fault; f != nil {
			run.Events[i].Fault = new(*f)
		}
		edit(&run.Events[i])
	}
	return run
}

func undone(e *history.Event) {
	if e.Fault != nil && e.Fault.Stage == history.Seen {
		e.Fault.Error = "nothing was done"
	}
}

// well turns failures into answers.
func well(of func(*history.Request) bool) func(*history.Request) {
	return func(r *history.Request) {
		if r.Outcome.Failed() && of(r) {
			r.Outcome, r.Err = history.OK, ""
		}
	}
}

func every(*history.Request) bool { return true }

// once lets one request of a lane fail that is sent at a moment or after it.
func once(lane history.Lane, at history.Offset, outcome history.Outcome) func(*history.Request) {
	var seq *uint64
	return func(r *history.Request) {
		if seq == nil && r.Lane == lane && r.Sent >= at {
			seq = new(r.Seq)
		}
		if seq != nil && r.Lane == lane && r.Seq == *seq {
			r.Outcome, r.Pod, r.Node = outcome, "", ""
		}
	}
}

func both(a, b func(*history.Request)) func(*history.Request) {
	return func(r *history.Request) { a(r); b(r) }
}

// TestAMutantIsCaughtForThePlantedReason: edits of real records of mutants that were caught. After each of them something else, or
// nothing, is seen than what was planted, and the mutant is not caught.
func TestAMutantIsCaughtForThePlantedReason(t *testing.T) {
	const drops, params, cause = "drops-at-sigterm", "{}", "cut-while-ending"
	const steady = 3 * second // its fault began at 5.4 s
	whole := onGolden(t, drops, params, cause, history.LaneReused)
	budget := onGolden(t, "no-budget", params, "outage-eviction", history.LaneFresh, history.LaneReused)
	spread := onGolden(t, "all-on-one-node", string(must(invariant.Encode(invariant.Spread{
		Workload: "backend", TopologyKey: ht.ZoneLabel, Max: 1,
	})).Params), "")
	for name, s := range map[string]struct {
		run  history.Run
		want verdict.Outcome
	}{
		"as it was":                      {whole, verdict.Held},
		"both lanes, as it was":          {budget, verdict.Held},
		"a spread over zones, as it was": {spread, verdict.Held},
		"an older record, as it was":     {onGolden(t, drops, "", ""), verdict.Held},
		"the other lane":                 {onGolden(t, drops, params, cause, history.LaneFresh), verdict.Violated},
		"one lane of two":                {onGolden(t, drops, params, cause), verdict.Violated},
		"nothing fails after the fault":  {withRequests(whole, both(well(every), once(history.LaneReused, steady, history.Reset))), verdict.Unknown},
		"nothing fails, in an older record": {withRequests(onGolden(t, drops, "", ""), both(well(every), once(history.LaneReused, steady, history.Reset))),
			verdict.Unknown},
		"nothing fails at all": {withRequests(whole, well(every)), verdict.Violated},
		"one lane of two is well": {withRequests(budget, well(func(r *history.Request) bool { return r.Lane == history.LaneReused })),
			verdict.Violated},
		"another cause":        {onGolden(t, drops, params, "late-endpoint", history.LaneReused), verdict.Unknown},
		"mostly another cause": {onGolden(t, "no-budget", params, "late-endpoint", history.LaneFresh), verdict.Unknown},
		"the fault went wrong, and the harness was in trouble": {troubled(withEvents(whole, undone)), verdict.Unknown},
		"the fault went wrong":                                 {withEvents(whole, undone), verdict.Unknown},
		"the fault went wrong, and one request timed out in Steady": {
			withRequests(withEvents(onGolden(t, drops, params, "late-endpoint", history.LaneReused), undone),
				both(well(every), once(history.LaneReused, steady, history.TimeoutResponse))), verdict.Unknown,
		},
		"the fault was never seen": {dropped(whole, func(e history.Event) bool { return e.Fault != nil && e.Fault.Stage == history.Seen }),
			verdict.Unknown},
		"no fault at all":                 {dropped(whole, func(e history.Event) bool { return e.Fault != nil }), verdict.Unknown},
		"no phases":                       {dropped(whole, func(e history.Event) bool { return e.Phase != nil }), verdict.Unknown},
		"a record that was cut off":       {incomplete(whole), verdict.Unknown},
		"a watch was blind":               {withGap(whole), verdict.Unknown},
		"a promise with other parameters": {onGolden(t, drops, `{"lanes":["reused"]}`, cause, history.LaneReused), verdict.Unknown},
		"a lane without load":             {onGolden(t, drops, params, cause, "grpc"), verdict.Unknown},
		"the control lane":                {onGolden(t, drops, params, cause, history.LaneControl), verdict.Unknown},
		"no promises":                     {promising(whole), verdict.Unknown},
		"a promise that is not known":     {promising(whole, history.Promise{Kind: "Harmony"}), verdict.Unknown},
		"no mutant":                       {withoutMutant(whole), verdict.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			got := judge.Caught(s.run, judge.Judge(s.run))
			outcome(t, got, s.want)
			if n, ok := got.Numbers[verdict.CaughtNumber]; ok != (s.want != verdict.Unknown) || ok && (n == 1) != (s.want == verdict.Held) {
				t.Errorf("%s is %v (%v)", verdict.CaughtNumber, n, ok)
			}
		})
	}
}

// TestATrapThatNoRequestCouldMeet: a server waits for a request that it can hurt, and none had a way to it when it was told to end. That no
// request failed shows nothing then. It was missed if one had.
func TestATrapThatNoRequestCouldMeet(t *testing.T) {
	run := withRequests(onGolden(t, "drops-at-sigterm", "{}", "cut-while-ending", history.LaneReused), well(every))
	run.Header.Mutant.Trap = true
	ended := map[string]history.Offset{} // when pods were told to end
	for _, e := range run.Events {
		if e.Pod != nil && !e.Pod.Deleting {
			ended[e.Pod.Name] = timeline.Never
		} else if e.Pod != nil && ended[e.Pod.Name] == timeline.Never {
			ended[e.Pod.Name] = e.T
		}
	}
	away := func(lane history.Lane, before history.Offset) func(*history.Request) {
		return func(r *history.Request) {
			switch last := ended[r.Pod] - before; {
			case r.Lane != lane || r.Pod == "" || r.Done < last:
			case r.Sent+5*ms < last:
				r.Done = r.Sent + 5*ms // it was an answer before that
			default:
				r.Pod, r.Node = "", ""
			}
		}
	}
	sleeps := withEvents(run, func(e *history.Event) {
		if e.Pod != nil {
			podOf(e).Lifecycle = &history.Lifecycle{PreStop: time.Minute}
		}
	})
	if got := judge.Caught(sleeps, judge.Judge(sleeps)); got.Outcome != verdict.Unknown || !strings.Contains(got.Seen, "in the second before its SIGTERM") {
		t.Errorf("SIGTERM comes after the last request: %s: %s", got.Outcome, got.Seen)
	}
	for name, test := range map[string]struct {
		edit func(*history.Request)
		want verdict.Outcome
	}{
		"victims answered until they ended":  {func(*history.Request) {}, verdict.Violated},
		"their connections had been closed":  {away(history.LaneReused, 1005*ms), verdict.Unknown},
		"those of the other lane":            {away(history.LaneFresh, 1005*ms), verdict.Violated},
		"half a second before, one answered": {away(history.LaneReused, 500*ms), verdict.Violated},
	} {
		edited := withRequests(run, test.edit)
		got := judge.Caught(edited, judge.Judge(edited))
		outcome(t, got, test.want, name)
	}
}

// TestOneSpreadOfTwoCatchesNoMutantOfTheOther: a mutant names its promise with parameters, and the verdict on another one of the same
// kind says nothing of it.
func TestOneSpreadOfTwoCatchesNoMutantOfTheOther(t *testing.T) {
	_, run := unpackGolden(t, "all-on-one-node")
	verdicts := judge.Judge(run)
	named := func(i int) history.Run {
		of, m := run, *run.Header.Mutant
		m.Params = run.Header.Promises[i].Params
		of.Header.Mutant = &m
		return of
	}
	verdicts[0].Outcome = verdict.Held // over zones
	if got := judge.Caught(named(0), verdicts); got.Outcome != verdict.Violated {
		t.Errorf("by the other one: %s: %s", got.Outcome, got.Seen)
	}
	if got := judge.Caught(named(1), verdicts); got.Outcome != verdict.Held {
		t.Errorf("by the one that is named: %s: %s", got.Outcome, got.Seen)
	}
	swapped := slices.Clone(verdicts)
	swapped[0].Kind = "Placed"
	if got := judge.Caught(named(0), swapped); got.Outcome != verdict.Unknown {
		t.Errorf("verdicts of another record: %s: %s", got.Outcome, got.Seen)
	}
	if got := judge.Caught(named(1), verdicts[:1]); got.Outcome != verdict.Unknown {
		t.Errorf("too few verdicts: %s: %s", got.Outcome, got.Seen)
	}
}

// TestWhatWasBrokenBeforeTheFaultCatchesNothing, unless the promise is about how a workload lies, which a bad one breaks at once.
func TestWhatWasBrokenBeforeTheFaultCatchesNothing(t *testing.T) {
	run := onGolden(t, "evictions-without-a-budget", "", "")
	verdicts := judge.Judge(run)
	if got := judge.Caught(run, verdicts); got.Outcome != verdict.Held {
		t.Fatalf("as it was: %s: %s", got.Outcome, got.Seen)
	}
	verdicts[0].At = timeline.Faults(run)[0].Injecting.At - 1
	if got := judge.Caught(run, verdicts); got.Outcome != verdict.Unknown || !strings.Contains(got.Seen, "before the first fault began at 8.082s") {
		t.Errorf("%s: %s", got.Outcome, got.Seen)
	}
	lies := onGolden(t, "a-selector-for-each", "", "")
	if got := judge.Caught(lies, judge.Judge(lies)); got.Outcome != verdict.Held {
		t.Errorf("before any fault, by where the pods are: %s: %s", got.Outcome, got.Seen)
	}
}

// TestVerdictsOfAnOlderVersion do not say what failed after the fault: those on a mutant that names lanes must be made again, and of
// others the first failure tells.
func TestVerdictsOfAnOlderVersion(t *testing.T) {
	for name, s := range map[string]struct {
		run  history.Run
		want verdict.Outcome
	}{
		"without lanes": {onGolden(t, "drops-at-sigterm", "", ""), verdict.Held},
		"with lanes":    {onGolden(t, "drops-at-sigterm", "{}", "", history.LaneReused), verdict.Unknown},
		"with its first failure before the fault": {
			withRequests(onGolden(t, "drops-at-sigterm", "", ""), once(history.LaneReused, 3*second, history.Reset)), verdict.Unknown,
		},
	} {
		verdicts := judge.Judge(s.run)
		for number := range verdicts[0].Numbers {
			if strings.Contains(number, "SinceFault") {
				delete(verdicts[0].Numbers, number)
			}
		}
		if strings.HasSuffix(name, "before the fault") {
			verdicts[0].At = 3 * second // as older versions said, which counted it
		}
		if got := judge.Caught(s.run, verdicts); got.Outcome != s.want {
			t.Errorf("%s: %s: %s", name, got.Outcome, got.Seen)
		}
	}
}

// TestAMutantThatIsCaughtByChance need not be: that it was not is told, and is no miss.
func TestAMutantThatIsCaughtByChance(t *testing.T) {
	run := onGolden(t, "drops-at-sigterm", "{}", "", history.LaneReused)
	run.Header.Mutant.ByChance = true
	caught := judge.Find(run)
	not := judge.Find(withRequests(run, well(every)))
	if v := caught.Caught; v.Outcome != verdict.Held || v.Escaped() || v.Numbers[verdict.CaughtNumber] != 1 {
		t.Errorf("caught: %+v", v)
	}
	if v := not.Caught; v.Outcome != verdict.Held || !v.Escaped() || !strings.HasPrefix(v.Seen, "not caught, which is allowed") {
		t.Errorf("not caught: %+v", v)
	}
	if v := judge.Find(incomplete(run)).Caught; v.Outcome != verdict.Unknown || v.Escaped() {
		t.Errorf("of half a record: %+v", v)
	}
}

// starvedMutant is a record of a load worker that its quota kept from running, so that it sent too little.
func starvedMutant() *ht.Builder {
	return heard(ht.Healthy().Fail(history.LaneFresh, 20*second, 20500*ms, history.Unsent), 20500*ms,
		history.Noise{Of: ht.Worker, Pause: 600 * ms, Throttled: 900 * ms}).Header(func(h *history.Header) {
		h.Promises = []history.Promise{must(invariant.Encode(invariant.NoFailedRequests{}))}
		h.Mutant = &history.Mutant{
			Removed: "processor time for the load worker", CaughtBy: "NoFailedRequests", Params: h.Promises[0].Params, Harness: true,
			Doubt: string(judge.DoubtStarvedWorker),
		}
	})
}

// TestAMutantOfTheHarnessPlantsItsDoubt: that a promise is Unknown catches it only for the planted doubt, and for no other.
func TestAMutantOfTheHarnessPlantsItsDoubt(t *testing.T) {
	tests := []struct {
		name string
		run  *ht.Builder
		want verdict.Outcome
	}{
		{"too little was sent", starvedMutant(), verdict.Held},
		{"nothing was sent just before the fault took its pods, so none of them answered", starvedMutant().Fail(history.LaneFresh, 14*second, 30*second, history.Unsent),
			verdict.Held},
		{"all was sent, and answers were given up", starved(givenUp(history.TimeoutConnect)), verdict.Held},
		{"answers were given up, and only the busy machine explains it", busy(givenUp(history.TimeoutConnect), ht.Worker, 17*second, 22*second, 1).
			Header(func(h *history.Header) { *h = starvedMutant().Run().Header }), verdict.Unknown},
		{"and a quota throttled the worker at another time", busy(heard(givenUp(history.TimeoutConnect), 30*second, history.Noise{Of: ht.Worker, Pause: 600 * ms,
			Throttled: 900 * ms}), ht.Worker, 17*second, 22*second, 1).Header(func(h *history.Header) { *h = starvedMutant().Run().Header }), verdict.Unknown},
		{"an older record", starvedMutant().Header(func(h *history.Header) { h.Mutant.Doubt, h.Mutant.Params = "", nil }), verdict.Held},
		{"it sent everything", starved(ht.Healthy()), verdict.Violated},
		{"it blamed the workload", starved(ht.Healthy().Fail(history.LaneFresh, 30*second, 30500*ms, history.Refused)), verdict.Violated},
		{"it did not hear itself", starvedMutant().DropEvents(func(e history.Event) bool { return e.Noise != nil }), verdict.Unknown},
		{"the machine was busy, and no quota kept it from running", starvedMutant().EditEvents(func(e *history.Event) {
			if e.Noise != nil {
				e.Noise = &history.Noise{Of: ht.Worker, Since: e.Noise.Since, Pause: 900 * ms}
			}
		}), verdict.Unknown},
		{"another part was throttled", starvedMutant().EditEvents(func(e *history.Event) {
			if e.Noise != nil {
				e.Noise = &history.Noise{Of: "worker-9", Since: e.Noise.Since, Throttled: 900 * ms}
			}
		}), verdict.Unknown},
		{"throttled before the load", starvedMutant().EditEvents(func(e *history.Event) {
			if e.Noise != nil {
				e.T, e.Noise = second, &history.Noise{Of: ht.Worker, Throttled: 900 * ms}
			}
		}), verdict.Unknown},
		{"a doubt that nobody knows", starvedMutant().Header(func(h *history.Header) { h.Mutant.Doubt = "spleen" }), verdict.Unknown},
		{"a record that was cut off", starvedMutant().Incomplete("its last line is missing"), verdict.Unknown},
		{"deployment did not settle", starvedMutant().Trouble(15*second, "waited 120s for deployment backend to settle"), verdict.Unknown},
		{"a fault that was never seen", setStage(starvedMutant(), history.Seen, -1), verdict.Unknown},
		{"a load worker that is gone", starvedMutant().WithoutTotals(), verdict.Unknown},
		{"rows that are missing", starvedMutant().WithoutTotals().Event(history.Event{T: 44 * second, Load: &history.LoadTotals{
			Worker: ht.Worker, Lane: history.LaneFresh, Planned: 9000, Sent: 9000,
		}}), verdict.Unknown},
		{"a watch that had a gap", starvedMutant().Gap("pods", 16*second, 26*second), verdict.Unknown},
		{"nothing was disrupted", starvedMutant().DropEvents(func(e history.Event) bool { return e.Pod != nil || e.Node != nil }), verdict.Unknown},
		{"nothing but a header", ht.New().Header(func(h *history.Header) { *h = starvedMutant().Run().Header }), verdict.Unknown},
	}
	for _, s := range tests {
		t.Run(s.name, func(t *testing.T) {
			run := s.run.Run()
			got := judge.Caught(run, judge.Judge(run))
			outcome(t, got, s.want)
		})
	}
}

// TestAClockThatWasNeverReadIsNotThePlantedDoubt: a worker that is starved reads it late, and not never.
func TestAClockThatWasNeverReadIsNotThePlantedDoubt(t *testing.T) {
	late := withEvents(starvedMutant().Run(), func(e *history.Event) {
		if e.Clock != nil {
			e.Clock = &history.Clock{Worker: e.Clock.Worker, Uncertainty: second}
		}
	})
	never := dropped(starvedMutant().Run(), func(e history.Event) bool { return e.Clock != nil })
	if v := judge.Find(late).Caught; v.Outcome != verdict.Held {
		t.Errorf("late: %s: %s", v.Outcome, v.Seen)
	}
	if v := judge.Find(never).Caught; v.Outcome != verdict.Unknown || !strings.Contains(v.Seen, "for another reason than the planted one") {
		t.Errorf("never: %s: %s", v.Outcome, v.Seen)
	}
}

// starved makes a record the harness's mutant, with a worker that its quota kept from running.
func starved(b *ht.Builder) *ht.Builder {
	header := starvedMutant().Run().Header
	return heard(b, 21005*ms, history.Noise{Of: ht.Worker, Pause: 1100 * ms, Throttled: 1100 * ms}).Header(func(h *history.Header) {
		h.Promises, h.Mutant = header.Promises, header.Mutant
	})
}

func troubled(run history.Run) history.Run {
	run.Events = slices.Clone(run.Events)
	i := slices.IndexFunc(run.Events, func(e history.Event) bool { return e.Fault != nil && e.Fault.Stage == history.Seen })
	run.Events = slices.Insert(run.Events, i, history.Event{T: run.Events[i].T, Trouble: &history.Trouble{What: "nothing was rolled out"}})
	return run
}

func withGap(run history.Run) history.Run {
	run.Events = slices.Clone(run.Events)
	i := slices.IndexFunc(run.Events, func(e history.Event) bool { return e.Fault != nil && e.Fault.Stage == history.Seen })
	at := run.Events[i].T
	run.Events = slices.Insert(run.Events, i, history.Event{T: at, Gap: &history.Gap{What: "pods", Since: at - second, Why: "it broke off"}})
	return run
}

func dropped(run history.Run, drop func(history.Event) bool) history.Run {
	run.Events = slices.DeleteFunc(slices.Clone(run.Events), drop)
	return run
}

func incomplete(run history.Run) history.Run {
	run.Incomplete = "its last line is missing"
	return run
}

func promising(run history.Run, promises ...history.Promise) history.Run {
	run.Header.Promises = promises
	return run
}

func withoutMutant(run history.Run) history.Run {
	run.Header.Mutant = nil
	return run
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
