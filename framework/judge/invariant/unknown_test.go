package invariant_test

import (
	"errors"
	"slices"
	"testing"

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
	}{
		{"nothing", ht.Healthy(), nil},
		{"the end of the record", ht.Healthy().Incomplete("cut off"), onAnything},
		{"the phase recovered", dropPhase(history.Recovered), onAnything},
		{"the phase drained", dropPhase(history.Drained), onAnything},
		{"the order of phases", ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Phase != nil && e.Phase.Name == history.Recovered {
				e.T = 12 * second
			}
		}), onAnything},
		{"a quiet machine", ht.Healthy().Trouble(39*second, "the disk is full"), onAnything},
		{"a watch under load", ht.Healthy().Gap("pods", 24*second, 25*second), onAnything},
		{"a watch while the workload was deployed", ht.Healthy().Gap("pods", 4*second, 5*second), []string{"BudgetHonoured", "Spread"}},
		{"a watch that no promise reads", ht.Healthy().Gap("events", 24*second, 25*second), nil},
		{"a watch before anything was deployed", ht.Healthy().Gap("nodes", 0, second), nil},
		{"a watch after the load", ht.Healthy().Gap("nodes", 40*second, 41*second), nil},

		{"the fault", ht.Healthy().DropEvents(func(e history.Event) bool { return e.Fault != nil }), onAnything},
		{"the fault's beginning", stage(history.Injecting, -1), onAnything},
		{"the sight of it", stage(history.Seen, -1), onAnything},
		{"the sight of its end", stage(history.Healed, -1), onAnything},
		{"its undo", setStage(stage(history.Healed, -1), history.Healing, -1), needsHealed},
		{"its good end", ht.Healthy().Fault(32*second, history.FaultMark{Name: "drain one worker", Stage: history.Healed, Error: "w1 is still cordoned"}), onAnything},
		{"the order of its stages", stage(history.Seen, 15*second), onAnything},
		{"its being over only when undone", stage(history.Healed, 26*second), onAnything},

		{"a whole file of requests", ht.Healthy().FailReading(errors.New("row 7: cut off")), onAnything},
		{"a second of load", ht.Healthy().Fail(history.LaneFresh, 20*second, 21*second, history.Unsent), onRequests},
		{"the rate", ht.Healthy().Header(func(h *history.Header) { h.Plan.Lanes[1].RatePerSecond = 300 }), onRequests},
		{"a comparison of clocks", lateTotals(func(*history.LoadTotals) {}).DropEvents(func(e history.Event) bool { return e.Clock != nil }), onRequests},
		{"a good clock", clock(101 * ms), onRequests},
		{"a clock just good enough", clock(100 * ms), nil},
		{"a row", lateTotals(func(l *history.LoadTotals) {
			if l.Lane == history.LaneFresh {
				l.Planned, l.Sent = 6001, 6001
			}
		}), onRequests},
		{"the numbers of the rows", ht.Healthy().EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneReused && r.Seq == 4000 {
				r.Seq = 4001
			}
		}), onRequests},
		{"anything that was taken away", ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Phase != nil && e.Phase.Name == history.Disturbed { // what was taken away, was so before
				e.T = 25 * second
			}
		}), onRequests},
		{"endpoints on the victims", ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Slice != nil && e.Slice.Change == history.Listed {
				e.Slice.Endpoints = slices.Clone(e.Slice.Endpoints[1:])
			}
		}), []string{"FailuresEndWithin"}},
		{"time for failures to end", stage(history.Healing, 24*second), []string{"FailuresEndWithin"}},
		{"how soon a lost node is noticed", ht.Healthy().Header(func(h *history.Header) { h.Cluster.Timings = history.Timings{} }),
			[]string{"FailuresEndWithin"}},
		{"the endpoints when the fault began", ht.Healthy().Gap("endpointslices", 15400*ms, 15600*ms), onAnything},
		{"a budget", noBudget(ht.Healthy()).Eviction(20*second, history.Eviction{Pod: "x"}), []string{"BudgetHonoured"}},
		{"an eviction", ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Eviction != nil {
				e.Eviction.Namespace = "kube-system"
			}
			if e.Pod != nil {
				e.Pod.Disruption = ""
			}
		}), []string{"BudgetHonoured"}},
		{"the settling", ht.Healthy().Workload(38*second, ht.BackendWorkload(5, 6)).Workload(39*second, ht.BackendWorkload(6, 6)).
			Workload(39500*ms, ht.BackendWorkload(5, 6)).Workload(41*second, ht.BackendWorkload(6, 6)), []string{"Spread"}},
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
		}), []string{"BudgetHonoured", "RecoversWithin"}},
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
					lines(t, v)
				}
			}
		})
	}
}
