package invariant_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// recordedService is the one behind which the requests of the built recordings end.
const recordedService = ht.Namespace + "/" + ht.Service

// promised are the promises of a recording, with limits that are as short as the records.
func promised(r history.Recorded) (list []invariant.Invariant) {
	if r.Load != "" {
		list = append(list, invariant.NoFailedRequests{}, invariant.FailuresEndWithin{})
	}
	return append(list, invariant.RecoversWithin{Limit: 20 * second}, invariant.BudgetHonoured{}, invariant.Placement{},
		invariant.SpreadWithin{Limit: 20 * second})
}

// recordedDrain is a recording of Healthy's drain by somebody else, under load.
func recordedDrain() *ht.Builder { return ht.Healthy().AsRecording(recordedService) }

// recordedLoss is a recording of a lost worker, with failures of its share for as long as that takes.
func recordedLoss() *ht.Builder {
	b := killed().AsRecording(recordedService)
	return b
}

// kindsOf judges a recording by the default promises.
func kindsOf(b *ht.Builder) map[string]verdict.Verdict {
	run := b.Run()
	found := make(map[string]verdict.Verdict)
	for _, v := range judge.CheckAll(run, promised(*run.Header.Recorded)) {
		found[v.Kind] = v
	}
	return found
}

// TestRecordingsAreJudgedByWhatDisturbedThem: of each kind of promise, what a recording comes to.
func TestRecordingsAreJudgedByWhatDisturbedThem(t *testing.T) {
	const untested = verdict.Outcome("untested")
	for name, test := range map[string]struct {
		b    *ht.Builder
		want map[string]verdict.Outcome
	}{
		"a drain": {
			recordedDrain(),
			map[string]verdict.Outcome{"NoFailedRequests": verdict.Held, "FailuresEndWithin": untested, "RecoversWithin": verdict.Held, "BudgetHonoured": verdict.Held, "SpreadWithin": untested},
		},
		"a drain, and a failed request": {
			recordedDrain().Fail(history.LaneFresh, 18*second, 18005*ms, history.Refused),
			map[string]verdict.Outcome{"NoFailedRequests": verdict.Violated, "FailuresEndWithin": untested},
		},
		"a lost node": {recordedLoss(), map[string]verdict.Outcome{"NoFailedRequests": untested, "BudgetHonoured": untested}},
		"nothing": {
			recordedDrain().DropEvents(func(e history.Event) bool {
				return e.T > ht.SteadyAt && (e.Pod != nil || e.Node != nil || e.Workload != nil || e.Slice != nil || e.Budget != nil)
			}),
			map[string]verdict.Outcome{"NoFailedRequests": verdict.Unknown, "FailuresEndWithin": verdict.Unknown, "RecoversWithin": verdict.Unknown,
				"BudgetHonoured": verdict.Unknown, "Placement": verdict.Unknown, "SpreadWithin": verdict.Unknown},
		},
		"nothing, and a failed request": {
			recordedDrain().DropEvents(func(e history.Event) bool {
				return e.T > ht.SteadyAt && (e.Pod != nil || e.Node != nil || e.Workload != nil || e.Slice != nil || e.Budget != nil)
			}).Fail(history.LaneFresh, 18*second, 18005*ms, history.Refused),
			map[string]verdict.Outcome{"NoFailedRequests": verdict.Violated},
		},
		"a cordon of a node, of which the pods stay": {
			recordedDrain().DropEvents(func(e history.Event) bool {
				return e.T > ht.SteadyAt && (e.Pod != nil || e.Workload != nil || e.Slice != nil || e.Budget != nil)
			}),
			map[string]verdict.Outcome{"NoFailedRequests": verdict.Unknown, "RecoversWithin": verdict.Unknown},
		},
		"a drain before the load flowed": {
			recordedDrain().EditEvents(func(e *history.Event) {
				if e.Phase != nil && e.Phase.Name == history.Steady {
					e.T = 25 * second
				}
			}),
			map[string]verdict.Outcome{"NoFailedRequests": verdict.Unknown, "FailuresEndWithin": verdict.Unknown, "RecoversWithin": verdict.Unknown, "BudgetHonoured": verdict.Unknown},
		},
		"a drain after the load had ended": {
			recordedDrain().EditEvents(func(e *history.Event) {
				if e.Phase != nil && e.Phase.Name == history.Drained {
					e.T = 15 * second
				}
			}),
			map[string]verdict.Outcome{"NoFailedRequests": verdict.Unknown, "FailuresEndWithin": verdict.Unknown, "RecoversWithin": verdict.Unknown, "BudgetHonoured": verdict.Unknown},
		},
		"a drain of pods that requests do not reach": {
			recordedDrain().Header(func(h *history.Header) { h.Recorded.Services = []string{"holdfast/other"} }),
			map[string]verdict.Outcome{"NoFailedRequests": verdict.Unknown, "FailuresEndWithin": verdict.Unknown, "RecoversWithin": verdict.Held},
		},
		"a load of which nobody says where it ends": {
			recordedDrain().Header(func(h *history.Header) { h.Recorded = &history.Recorded{Load: history.LoadInside} }),
			map[string]verdict.Outcome{"NoFailedRequests": verdict.Unknown, "FailuresEndWithin": verdict.Unknown, "RecoversWithin": verdict.Held},
		},
		"no load": {
			recordedDrain().DropRequests(func(history.Request) bool { return true }).Header(func(h *history.Header) {
				h.Plan, h.Recorded = nil, &history.Recorded{For: 30 * second}
			}),
			map[string]verdict.Outcome{"RecoversWithin": verdict.Held, "BudgetHonoured": verdict.Held},
		},
		"budgets that nobody may list": {
			recordedDrain().DropEvents(func(e history.Event) bool { return e.Budget != nil }).Header(func(h *history.Header) {
				h.Recorded.NotWatched = []history.NotWatched{{What: "poddisruptionbudgets", Why: "the user must not list them"}}
			}),
			map[string]verdict.Outcome{"NoFailedRequests": verdict.Held, "BudgetHonoured": verdict.Unknown},
		},
		"no budget at all": {
			recordedDrain().DropEvents(func(e history.Event) bool { return e.Budget != nil }),
			map[string]verdict.Outcome{"BudgetHonoured": untested},
		},
		"an eviction far from the limit of its budget": {
			recordedDrain().EditEvents(func(e *history.Event) {
				if e.Budget != nil {
					e.Budget.MaxUnavailable, e.Budget.DesiredHealthy, e.Budget.DisruptionsAllowed = "4", 2, 3
				}
			}),
			map[string]verdict.Outcome{"BudgetHonoured": untested},
		},
		"an eviction below its budget, by anybody": {
			recordedDrain().EditEvents(func(e *history.Event) {
				if e.Budget != nil {
					e.Budget.MaxUnavailable = "0"
				}
			}),
			map[string]verdict.Outcome{"BudgetHonoured": verdict.Violated},
		},
		"a workload that does not come back": {
			recordedDrain().DropEvents(func(e history.Event) bool {
				return e.T >= ht.ReplacedAt && (e.Pod != nil && e.Pod.Name == ht.Replacement || e.Workload != nil)
			}),
			map[string]verdict.Outcome{"RecoversWithin": verdict.Violated},
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := kindsOf(test.b)
			for kind, want := range test.want {
				v, promised := found[kind]
				got := v.Outcome
				if v.Untested {
					got = untested
				}
				if want == verdict.Unknown && got == untested && v.Kind != "" && !strings.HasSuffix(kind, "Within") {
					got = "untested where Unknown is wanted"
				}
				if promised {
					checkSaid(t, kind, v.Seen)
				}
				if !promised || got != want {
					t.Errorf("%s is %q: %s\n%s\nwant %s", kind, got, v.Seen, strings.Join(v.Evidence, "\n"), want)
				}
			}
		})
	}
}

// TestACommandIsShownWhole: in a recording of a command the whole time of the command must have been recorded, not only the times around
// what disturbed the cluster.
func TestACommandIsShownWhole(t *testing.T) {
	command := func(begin, end history.Offset) *ht.Builder {
		b := recordedDrain().Header(func(h *history.Header) { h.Recorded.Command = []string{"./upgrade.sh"} })
		if begin > 0 {
			b.Step(begin, history.Step{What: history.CommandStep, Stage: history.StepBegin})
		}
		if end > 0 {
			b.Step(end, history.Step{What: history.CommandStep, Stage: history.StepEnd})
		}
		return b
	}
	for name, test := range map[string]struct {
		b    *ht.Builder
		want verdict.Outcome
	}{
		"as it is":                        {command(15*second, 35*second), verdict.Held},
		"without its beginning":           {command(0, 35*second), verdict.Unknown},
		"without its end":                 {command(15*second, 0), verdict.Unknown},
		"that outlasts the load":          {command(15*second, 45*second), verdict.Unknown},
		"that began before":               {command(5*second, 35*second), verdict.Unknown},
		"with a gap in the watch of pods": {command(15*second, 35*second).Gap("pods", 30*second, 31*second), verdict.Unknown},
		"with trouble":                    {command(15*second, 35*second).Trouble(33*second, "the disk is full"), verdict.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kind := range []string{"NoFailedRequests", "RecoversWithin"} {
				v := kindsOf(test.b)[kind]
				outcome(t, v, test.want)
			}
		})
	}
}

// longRecording has two drains, an hour apart.
func longRecording() *ht.Builder {
	const hour = 3600 * second
	b := recordedDrain().DropRequests(func(history.Request) bool { return true })
	var later []history.Event
	for _, e := range b.Events() {
		if e.T > ht.SteadyAt && e.Phase == nil && (e.Pod != nil || e.Node != nil || e.Workload != nil || e.Slice != nil || e.Budget != nil) {
			e.T += hour
			again := e
			if e.Pod != nil { // the second drain takes the pod that took the place of the first one's
				p := *e.Pod
				switch p.Name {
				case ht.Victim:
					p.Name, p.UID, p.Node, p.IP = ht.Replacement, "uid-"+ht.Replacement, "w2", "10.0.0.7"
				case ht.Replacement:
					p.Name, p.UID, p.IP = "backend-8", "uid-backend-8", "10.0.0.8"
					if p.Node != "" {
						p.Node = ht.DrainedNode
					}
				}
				again.Pod = &p
			}
			if e.Node != nil && e.Node.Name == ht.DrainedNode {
				n := *e.Node
				n.Name = "w2"
				n.Labels = ht.ReadyNode("w2", "a").Labels
				again.Node = &n
			}
			if e.Slice != nil {
				again.Slice = new(*e.Slice)
				again.Slice.Endpoints = slices.Clone(e.Slice.Endpoints)
				for i := range again.Slice.Endpoints {
					end := &again.Slice.Endpoints[i]
					switch end.Pod {
					case ht.Victim:
						end.Pod, end.Node, end.IP = ht.Replacement, "w2", "10.0.0.7"
					case ht.Replacement:
						end.Pod, end.Node, end.IP = "backend-8", ht.DrainedNode, "10.0.0.8"
					}
				}
			}
			later = append(later, again)
		}
	}
	for _, e := range later {
		b.Event(e)
	}
	b.EditEvents(func(e *history.Event) {
		if e.Phase != nil && e.Phase.Name == history.Drained {
			e.T = hour + ht.DrainedAt
		}
	})
	b.Header(func(h *history.Header) {
		for i := range h.Plan.Lanes {
			h.Plan.Lanes[i].RatePerSecond = 10
		}
	})
	return b.Load(history.LaneFresh, 10, ht.SteadyAt, hour+ht.DrainedAt).Load(history.LaneReused, 10, ht.SteadyAt, hour+ht.DrainedAt)
}

// TestOnlyTheTimesAroundDisturbancesCount: what is missing of a long recording while nothing is disturbed takes nothing from what is shown.
// What is missing around one disturbance does.
func TestOnlyTheTimesAroundDisturbancesCount(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*ht.Builder)
		want  verdict.Outcome
	}{
		"as it is":             {func(*ht.Builder) {}, verdict.Held},
		"a gap between":        {func(b *ht.Builder) { b.Gap("pods", 1800*second, 1860*second) }, verdict.Held},
		"a gap around one":     {func(b *ht.Builder) { b.Gap("pods", 3618*second, 3619*second) }, verdict.Unknown},
		"trouble between":      {func(b *ht.Builder) { b.Trouble(1800*second, "the recorder was away") }, verdict.Held},
		"trouble around one":   {func(b *ht.Builder) { b.Trouble(3618*second, "the recorder was away") }, verdict.Unknown},
		"a failure between":    {func(b *ht.Builder) { b.Fail(history.LaneFresh, 1800*second, 1801*second, history.Refused) }, verdict.Violated},
		"a failure around one": {func(b *ht.Builder) { b.Fail(history.LaneFresh, 3618*second, 3619*second, history.Refused) }, verdict.Violated},
		"load that is missing between": {func(b *ht.Builder) {
			b.Fail(history.LaneFresh, 1800*second, 1900*second, history.Unsent)
		}, verdict.Held},
		"load that is missing around one": {func(b *ht.Builder) {
			b.Fail(history.LaneFresh, 3617*second, 3619*second, history.Unsent)
		}, verdict.Unknown},
		"rows that are missing between": {func(b *ht.Builder) {
			materialise(b).DropRequests(func(r history.Request) bool { return r.Due >= 1800*second && r.Due < 1801*second })
		}, verdict.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			b := longRecording()
			test.spoil(b)
			v := kindsOf(b)["NoFailedRequests"]
			outcome(t, v, test.want)
		})
	}
}

// TestFiguresOfEpisodesAreAddedUp: the upper bound of a recording is that of all its requests around disturbances.
func TestFiguresOfEpisodesAreAddedUp(t *testing.T) {
	v := kindsOf(longRecording())["NoFailedRequests"]
	for name, want := range map[string]float64{"disturbances": 2, "episodes": 2, "podTerminations": 2, "requests.fresh": 1410 + 390} {
		if v.Numbers[name] != want {
			t.Errorf("%s is %v, want %v", name, v.Numbers[name], want)
		}
	}
	if bound := v.Numbers["upperBound95.fresh"]; bound < 0.0016 || bound > 0.0017 {
		t.Errorf("the upper bound is %v", bound)
	}
}

// TestUntestedPromisesDoNotCount: a recording is Held by what was tested, Unknown if nothing was, and with load only if requests were.
func TestUntestedPromisesDoNotCount(t *testing.T) {
	judged := func(b *ht.Builder, drop ...string) verdict.Outcome {
		run := b.Run()
		promises := slices.DeleteFunc(promised(*run.Header.Recorded), func(p invariant.Invariant) bool { return slices.Contains(drop, invariant.Kind(p)) })
		return judge.Overall(judge.CheckAll(run, promises))
	}
	rules := func(b *ht.Builder) *ht.Builder {
		return b.EditEvents(func(e *history.Event) {
			if e.Pod != nil && e.Pod.Change != history.Modified {
				e.Pod.Rules = []byte("{}")
			}
		})
	}
	if got := judged(rules(recordedDrain())); got != verdict.Held {
		t.Errorf("a drain is %s", got)
	}
	if got := judged(rules(recordedDrain()), "NoFailedRequests", "FailuresEndWithin", "RecoversWithin", "BudgetHonoured"); got != verdict.Unknown {
		t.Errorf("a recording of which nothing was tested is %s", got)
	}
	elsewhere := rules(recordedDrain()).Header(func(h *history.Header) { h.Recorded.Services = []string{"holdfast/other"} })
	if got := judged(elsewhere); got != verdict.Unknown {
		t.Errorf("a recording with load of which no promise about requests was tested is %s", got)
	}
}

// TestBothKindsAreJudgedForThemselves: in a recording with a drain and, later, a lost node, failures of the lost node's share break nothing,
// and the same failures during the drain do.
func TestBothKindsAreJudgedForThemselves(t *testing.T) {
	_, run := unpackGolden(t, "kill-one-worker")
	b := editable(t, run)
	found := kindsOf(b.AsRecording("hf-chaos-kill-one-worker/backend"))
	for kind, want := range map[string]verdict.Outcome{"NoFailedRequests": verdict.Unknown, "FailuresEndWithin": verdict.Held, "RecoversWithin": verdict.Held} {
		if v := found[kind]; v.Outcome != want {
			t.Errorf("%s: %s: %s %q", kind, v.Outcome, v.Seen, v.Evidence)
		}
	}
	if v := found["NoFailedRequests"]; !v.Untested {
		t.Errorf("what was disturbed was involuntary: %+v", v)
	}
	alone := judge.CheckAll(b.Run(), []invariant.Invariant{invariant.NoFailedRequests{}})[0]
	if alone.Outcome != verdict.Violated {
		t.Errorf("where only NoFailedRequests is promised it is about every disturbance, and is %s: %s", alone.Outcome, alone.Seen)
	}
	b = editable(t, run)
	b.DropEvents(func(e history.Event) bool { return e.Node != nil && e.T > time.Second*10 && e.Node.Ready != "True" })
	b.EditEvents(func(e *history.Event) {
		if e.Pod != nil && e.Pod.Disruption != "" {
			e.Pod.Disruption = "EvictionByEvictionAPI"
		}
	})
	if v := kindsOf(b.AsRecording("hf-chaos-kill-one-worker/backend"))["NoFailedRequests"]; v.Outcome != verdict.Violated {
		t.Errorf("the same failures through an eviction: %s: %s", v.Outcome, v.Seen)
	}
}

// TestAStepShowsWhatItDid: a step of `test --disturb` is Unknown if the watches saw nothing of what it did while it did it. What others did is no proof of
// it, and what they broke is broken all the same.
func TestAStepShowsWhatItDid(t *testing.T) {
	step := func(b *ht.Builder, begin, end history.Offset, does ...string) *ht.Builder {
		b.Header(func(h *history.Header) {
			h.Recorded.Command, h.Recorded.Does = []string{"holdfast", "test", "--disturb", "--faults", "drain"}, does
		})
		return b.Step(begin, history.Step{What: history.CommandStep, Stage: history.StepBegin}).
			Step(end, history.Step{What: history.CommandStep, Stage: history.StepEnd})
	}
	restarted := func() *ht.Builder { return strike(calm(), podRestarts, 18*second, 2*second, 3) }
	for name, test := range map[string]struct {
		b    *ht.Builder
		want verdict.Outcome
	}{
		"its drain":                             {step(recordedDrain(), 15*second, 35*second, "drain"), verdict.Held},
		"its drain of that node":                {step(recordedDrain(), 15*second, 35*second, "drain of "+ht.DrainedNode), verdict.Held},
		"somebody else's drain of another":      {step(recordedDrain(), 15*second, 35*second, "drain of w2"), verdict.Unknown},
		"its eviction, seen as a drain":         {step(recordedDrain(), 15*second, 35*second, "eviction of holdfast/backend", "drain of holdfast/backend"), verdict.Held},
		"an eviction from another workload":     {step(recordedDrain(), 15*second, 35*second, "eviction of holdfast/cart", "drain of holdfast/cart"), verdict.Unknown},
		"its deletion":                          {step(deletes(calm(), 20*second, 2), 15*second, 35*second, "deletion of holdfast/backend"), verdict.Held},
		"a deletion in another workload":        {step(deletes(calm(), 20*second, 2), 15*second, 35*second, "deletion of holdfast/cart"), verdict.Unknown},
		"a deletion in another namespace":       {step(deletes(calm(), 20*second, 2), 15*second, 35*second, "deletion of shop/backend"), verdict.Unknown},
		"a restart on the node that was killed": {step(restarted(), 15*second, 35*second, "node-lost of w3", "restart of w3"), verdict.Held},
		"a restart on another node":             {step(restarted(), 15*second, 35*second, "node-lost of w2", "restart of w2"), verdict.Unknown},
		"one of what it may look like":          {step(recordedDrain(), 15*second, 35*second, "eviction", "drain"), verdict.Held},
		"somebody else's drain, before it":      {step(recordedDrain(), 24*second, 35*second, "drain"), verdict.Unknown},
		"somebody else's drain, after it":       {step(recordedDrain(), 11*second, 13*second, "drain"), verdict.Unknown},
		"somebody else's drain, and not its":    {step(recordedDrain(), 15*second, 35*second, "rollout"), verdict.Unknown},
		"nothing but a restart":                 {step(restarted(), 15*second, 35*second, "drain"), verdict.Unknown},
		"a restart, of a node that was killed":  {step(restarted(), 15*second, 35*second, "node-lost", "restart"), verdict.Held},
		"nothing of it, and a failed request": {step(recordedDrain().Fail(history.LaneFresh, 18*second, 18005*ms, history.Refused), 15*second, 35*second, "rollout"),
			verdict.Violated},
	} {
		outcome(t, judge.Check(test.b.Run(), invariant.NoFailedRequests{}), test.want, name)
	}
}
