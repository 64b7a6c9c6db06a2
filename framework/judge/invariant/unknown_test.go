package invariant_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Kinds of promises by what they need.
var (
	onRequests  = []string{"NoFailedRequests", "FailuresEndWithin"}
	onEvents    = []string{"BudgetHonoured", "Spread", "RecoversWithin"}
	onAnything  = slices.Concat(onRequests, onEvents)
	needsHealed = []string{"NoFailedRequests", "FailuresEndWithin", "BudgetHonoured", "Spread"}
)

// follows are the doubts that cannot but follow from the one thing, by its name and who says so.
var follows = map[string][]string{
	"the fault's beginning RecoversWithin": {"backend was never disturbed"},
	"the order of its stages FailuresEndWithin": {
		"drain one worker was seen to take effect at 15s, which is impossible after 15.5s"},
	"the endpoints when the fault began FailuresEndWithin": {
		"how much of backend the victims of drain one worker had is not known: a watch was blind"},
	"a second of load NoFailedRequests":  notSent,
	"a second of load FailuresEndWithin": notSent,
	"a budget BudgetHonoured":            {"no eviction of a pod under a budget was asked for"},
}

// instead is what a promise says that needs the one thing for a reason of its own.
var instead = map[string]string{
	"the disturbance of the workload BudgetHonoured": "budget backend was not tested: it refused no eviction when its status allowed none, " +
		"and no eviction that was accepted left as few healthy pods as it demands, with a status that allowed no more",
}

// notSent is what a second without load leads to.
var notSent = []string{
	"no request was sent on fresh for 1.005s from 19.995s, so an outage of more than 255ms could go unseen",
	"200 of 4900 requests due on fresh since the first fault began were not sent, and at most 1 % may be unsent",
}

// TestOneThingIsMissing takes one piece of evidence out of a record of which every promise is held. Those that need it
// say so, and nothing but what follows from it; the others do not mind.
func TestOneThingIsMissing(t *testing.T) {
	lateTotals := func(edit func(*history.LoadTotals)) *ht.Builder {
		b := ht.Healthy().WithoutTotals()
		b.Event(history.Event{T: ht.DrainedAt, Clock: &history.Clock{Worker: ht.Worker, Uncertainty: ms}})
		for _, l := range []history.Lane{history.LaneFresh, history.LaneReused} {
			total := history.LoadTotals{Worker: ht.Worker, Lane: l, Planned: 6000, Sent: 6000}
			edit(&total)
			b.Event(history.Event{T: ht.DrainedAt, Load: &total})
		}
		return b
	}
	clock := func(uncertainty history.Offset) *ht.Builder {
		return lateTotals(func(*history.LoadTotals) {}).EditEvents(func(e *history.Event) {
			if e.Clock != nil {
				e.Clock.Uncertainty = uncertainty
			}
		})
	}
	stage := func(s history.FaultStage, at history.Offset) *ht.Builder { return setStage(ht.Healthy(), s, at) }
	for _, s := range []struct {
		name string
		run  *ht.Builder
		who  []string
		want string
	}{
		{"nothing", ht.Healthy(), nil, ""},
		{"the end of the record", ht.Healthy().Incomplete("cut off"), onAnything, "the record is incomplete: cut off"},
		{"the phase recovered", dropPhase(history.Recovered), onAnything, "the record has no phase recovered"},
		{"the phase drained", dropPhase(history.Drained), onAnything, "the record has no phase drained"},
		{"the order of phases", ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Phase != nil && e.Phase.Name == history.Recovered {
				e.T = 12 * second
			}
		}), onAnything, "phase recovered begins at 12s, before the phase that precedes it"},
		{"a quiet machine", ht.Healthy().Trouble(39*second, "the disk is full"), onAnything, "trouble at 39s: the disk is full"},
		{"a watch under load", ht.Healthy().Gap("pods", 24*second, 25*second), onAnything,
			"the watch of pods had a gap from 24s to 25s: the watch broke off"},
		{"a watch while the workload was deployed", ht.Healthy().Gap("pods", 4*second, 5*second), []string{"BudgetHonoured", "Spread"},
			"the watch of pods had a gap from 4s to 5s: the watch broke off"},
		{"a watch that no promise reads", ht.Healthy().Gap("events", 24*second, 25*second), nil, ""},
		{"a watch before anything was deployed", ht.Healthy().Gap("nodes", 0, second), nil, ""},
		{"a watch after the load", ht.Healthy().Gap("nodes", 40*second, 41*second), nil, ""},

		{"the fault", ht.Healthy().DropEvents(func(e history.Event) bool { return e.Fault != nil }), onAnything, "no fault was injected"},
		{"the fault's beginning", stage(history.Injecting, -1), onAnything, "drain one worker has no start in the record"},
		{"the sight of it", stage(history.Seen, -1), onAnything, "drain one worker was never seen in effect"},
		{"the sight of its end", stage(history.Healed, -1), onAnything, "drain one worker was never seen to be reverted"},
		{"its undo", setStage(stage(history.Healed, -1), history.Healing, -1), needsHealed, "drain one worker was never seen to be reverted"},
		{"its good end", ht.Healthy().Fault(32*second, history.FaultMark{
			Name: "drain one worker", Stage: history.Healed, Error: "w1 is still cordoned",
		}), onAnything, "drain one worker went wrong: healed: w1 is still cordoned"},
		{"the order of its stages", stage(history.Seen, 15*second), onAnything,
			"drain one worker was seen at 15s, before it was applied at 15.5s"},
		{"its being over only when undone", stage(history.Healed, 26*second), onAnything,
			"drain one worker ended too early: at 26s, before its revert began"},

		{"a whole file of requests", ht.Healthy().FailReading(errors.New("row 7: cut off")), onAnything,
			"the requests could not be read to their end: row 7: cut off"},
		{"a second of load", ht.Healthy().Fail(history.LaneFresh, 20*second, 21*second, history.Unsent), onRequests,
			"only 0 of 200 requests due on fresh within 1s from 20s were sent"},
		{"the rate", ht.Healthy().Header(func(h *history.Header) { h.Plan.Lanes[1].RatePerSecond = 300 }), onRequests,
			"reused was planned at 300 requests a second, but had fewer due in 30 windows of 1s, the first from 10s"},
		{"a comparison of clocks", lateTotals(func(*history.LoadTotals) {}).DropEvents(func(e history.Event) bool { return e.Clock != nil }), onRequests,
			"the clock of worker-0 was never compared with the run's"},
		{"a good clock", clock(101 * ms), onRequests, "the clock of worker-0 may be off by 101ms, and at most 100ms is precise enough to tell phases apart"},
		{"a clock just good enough", clock(100 * ms), nil, ""},
		{"a row", lateTotals(func(l *history.LoadTotals) {
			if l.Lane == history.LaneFresh {
				l.Planned, l.Sent = 6001, 6001
			}
		}), onRequests, "worker-0 on fresh planned 6001 requests, but the record has 6000"},
		{"the numbers of the rows", ht.Healthy().EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneReused && r.Seq == 4000 {
				r.Seq = 4001
			}
		}), onRequests, "worker-0 on reused has duplicate or misnumbered requests in the record"},
		{"anything that was taken away", ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Phase != nil && e.Phase.Name == history.Disturbed { // what was taken away, was so before
				e.T = 25 * second
			}
		}), onRequests, "nothing was disrupted: no fault ended a pod or took a node before its revert began"},
		{"endpoints on the victims", ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Slice != nil && e.Slice.Change == history.Listed {
				e.Slice.Endpoints = slices.Clone(e.Slice.Endpoints[1:])
			}
		}), []string{"FailuresEndWithin"}, "no service had an endpoint on the victims of drain one worker, although they answered"},
		{"time for failures to end", stage(history.Healing, 24*second), []string{"FailuresEndWithin"},
			"drain one worker began to be reverted at 24s, before failures had to end at 24.972s"},
		{"how soon a lost node is noticed", ht.Healthy().Header(func(h *history.Header) { h.Cluster.Timings = history.Timings{} }),
			[]string{"FailuresEndWithin"}, "the record lacks the timings after which its cluster notices a lost node"},
		{"the endpoints when the fault began", ht.Healthy().Gap("endpointslices", 15400*ms, 15600*ms), onAnything,
			"the watch of endpointslices had a gap from 15.4s to 15.6s: the watch broke off"},
		{"a budget", noBudget(ht.Healthy()).Eviction(20*second, history.Eviction{Pod: "x"}), []string{"BudgetHonoured"}, "the record has no budget"},
		{"an eviction", ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Eviction != nil {
				e.Eviction.Namespace = "kube-system"
			}
			if e.Pod != nil {
				e.Pod.Disruption = ""
			}
		}), []string{"BudgetHonoured"}, "no eviction of a pod under a budget was asked for"},
		{"the settling", ht.Healthy().Workload(38*second, ht.BackendWorkload(5, 6)).Workload(39*second, ht.BackendWorkload(6, 6)).
			Workload(39500*ms, ht.BackendWorkload(5, 6)).Workload(41*second, ht.BackendWorkload(6, 6)), []string{"Spread"},
			"backend was not settled at the end"},
		{"the disturbance of the workload", ht.Healthy().DropEvents(func(e history.Event) bool {
			return e.T >= ht.DisturbedAt && (e.Slice != nil || e.Workload != nil || e.Pod != nil && e.Pod.Name != ht.Victim)
		}).EditEvents(func(e *history.Event) {
			if e.Pod != nil && e.Pod.Name == ht.Victim && e.T >= ht.DisturbedAt {
				e.Pod.Name, e.Pod.UID, e.Pod.Phase = "backend-0", "uid-0", "Succeeded" // which is not of those that are wanted
				e.Pod.Ready = false
			}
			if e.Eviction != nil {
				e.Eviction.Pod, e.Eviction.UID = "backend-0", "uid-0"
			}
		}), []string{"BudgetHonoured", "RecoversWithin"}, "backend was never disturbed"},
	} {
		t.Run(s.name, func(t *testing.T) {
			for _, v := range judge.CheckAll(s.run.Run(), everything()) {
				switch {
				case !slices.Contains(s.who, v.Kind):
					if v.Outcome == verdict.Unknown {
						t.Errorf("%s does not need it, and says: %s", v.Kind, v.Seen)
					}
				case v.Outcome != verdict.Unknown || v.At != 0:
					t.Errorf("%s is %s at %s: %s", v.Kind, v.Outcome, v.At, v.Seen)
				default:
					if diff := gocmp.Diff(append([]string{cmp.Or(instead[s.name+" "+v.Kind], s.want)}, follows[s.name+" "+v.Kind]...), v.Evidence); diff != "" {
						t.Errorf("%s (-want +got):\n%s", v.Kind, diff)
					}
				}
			}
		})
	}
}
