package invariant_test

import (
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

func TestNodeLossLimit(t *testing.T) {
	stock := history.Timings{NodeMonitorPeriod: 5 * time.Second, NodeMonitorGrace: 50 * time.Second}
	if got, want := invariant.NodeLossLimit(stock), 63*time.Second; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFailuresEndWithin(t *testing.T) {
	predicted := invariant.FailuresEndWithin{}
	fresh := invariant.FailuresEndWithin{Lanes: []history.Lane{history.LaneFresh}, Limit: 3 * second}
	outage := func() *ht.Builder { return failVictims(killed(), history.LaneFresh, 15600*ms, noticedAt) }

	checkAll(t, []sample{
		{"held", outage(), predicted, verdict.Held, 0},
		{"no failure at all", killed(), predicted, verdict.Held, 0},
		{"no failure, and no victim had answered", killed().EditRequests(func(r *history.Request) {
			if r.Node == "w3" {
				r.Pod, r.Node = "backend-4", "w4"
			}
		}), predicted, verdict.Unknown, 0},
		{"too late", outage().Fail(history.LaneFresh, 25005*ms, 25015*ms, history.Reset), predicted, verdict.Violated, 25005 * ms},
		{"so near to the last moment that the worker's clock does not tell on which side", onceMore(outage(), 24982*ms), predicted, verdict.Unknown, 0},
		{"in the last moment", onceMore(outage(), 24980*ms), predicted, verdict.Held, 0},
		{"later than a victim that died when it last answered, and not than one that died when it first let somebody down",
			onceMore(outage(), 24985*ms), predicted, verdict.Unknown, 0},
		{"within a limit of its own", failVictims(killed(), history.LaneFresh, 15600*ms, 18900*ms), fresh, verdict.Held, 0},
		{"beyond a limit of its own", outage(), fresh, verdict.Violated, 19010 * ms},
		{"a limit that is looser than the prediction", outage().Node(31500*ms, ht.ReadyNode("w6", "c")), invariant.FailuresEndWithin{Limit: 14 * second}, verdict.Held, 0},
		{"on a lane that is not promised", failVictims(killed(), history.LaneReused, 15600*ms, 27*second), fresh, verdict.Held, 0},
		{"before the fault", failVictims(killed(), history.LaneFresh, 12*second, 12050*ms), predicted, verdict.Unknown, 0},
		{"more than the victims' share", astray(killed(), 16*second, 17*second, history.Refused), predicted, verdict.Violated, 16 * second},
		{"a share that sampling explains", behindAService(killed()).EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneFresh && r.Due >= 16*second && r.Due < 17*second && r.Seq%4 == 0 {
				r.Outcome, r.Pod, r.Node = history.TimeoutConnect, "", ""
			}
		}), predicted, verdict.Held, 0},
		{"a server that no fault touched", outage().EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneReused && r.Seq == 1401 {
				r.Outcome, r.Status = history.BadStatus, 500
			}
		}), predicted, verdict.Violated, 17005 * ms},
		{"healed before failures had to end", setStage(outage(), history.Healing, 24*second), predicted, verdict.Unknown, 0},
		{"no endpoints known", outage().DropEvents(func(e history.Event) bool { return e.Slice != nil }), predicted,
			verdict.Unknown, 0},
		{"two services on the victim", twoServices(outage()).Header(func(h *history.Header) { // whose lanes name none
			for i := range h.Plan.Lanes {
				h.Plan.Lanes[i].Target = ""
			}
		}), predicted, verdict.Unknown, 0},
		{"two services, one named", twoServices(failVictims(killed(), history.LaneFresh, 16*second, 17*second)),
			invariant.FailuresEndWithin{Service: "backend"}, verdict.Held, 0},
		{"unknown", outage().Incomplete("cut off"), predicted, verdict.Unknown, 0},
	})
}

func TestFailuresEndWithinNumbers(t *testing.T) {
	run := failVictims(killed(), history.LaneFresh, 15600*ms, noticedAt).Run()
	v := judge.Check(run, invariant.FailuresEndWithin{})
	numbers(t, v, map[string]float64{
		"limitSeconds": 9, "measuredSeconds": 5.008, "victimsShare": 1.0 / 6, "failedShare.fresh": 180.0 / 1076,
		"allowedShare.fresh": 220.0 / 1076, "failed": 180, "failedOutside": 0, "nodeLosses": 1,
	})
	lines(t, v)
	numbers(t, v, map[string]float64{"cause.node-lost-connection": 180, "unattributed": 0})
}

// TestTwoFaultsAreOneOutage: when faults overlap, the share is that of all their victims.
func TestTwoFaultsAreOneOutage(t *testing.T) {
	b := killed()
	for _, m := range []struct {
		at    history.Offset
		stage history.FaultStage
	}{{17 * second, history.Injecting}, {18 * second, history.Seen}, {29 * second, history.Healing}, {31 * second, history.Healed}} {
		mark := history.FaultMark{ID: 1, Name: "kill another", Stage: m.stage}
		if m.stage == history.Seen {
			mark.Nodes = []string{"w4", "w5"}
		}
		b.Fault(m.at, mark)
	}
	b.EditRequests(func(r *history.Request) {
		if r.Due >= 18*second && r.Due < 26*second && (r.Node == "w3" || r.Node == "w4" || r.Node == "w5") {
			r.Outcome, r.Inferred = history.TimeoutConnect, true
		}
	})
	check(t, b.Run(), invariant.FailuresEndWithin{Lanes: []history.Lane{history.LaneFresh}}, verdict.Held, 0)
}

// onceMore makes a victim fail one more request.
func onceMore(b *ht.Builder, at history.Offset) *ht.Builder {
	return b.Request(history.Request{Due: at, Outcome: history.Reset, Pod: "backend-3", Node: "w3", Inferred: true})
}

// twoServices adds a gateway with an endpoint on the victim.
func twoServices(b *ht.Builder) *ht.Builder {
	s := sliceOf(3, 4)
	s.Name, s.Service = "gateway-abcde", "gateway"
	for i := range s.Endpoints {
		s.Endpoints[i].Pod = "gateway-" + s.Endpoints[i].Node
	}
	return b.Slice(4*second, s)
}
