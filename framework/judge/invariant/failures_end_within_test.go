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
	const victims = "the victims had 1 of 6 endpoints of backend, 16.7 %, which with sampling error allows "
	checkAll(t, []sample{
		{"held", outage(), predicted, verdict.Held, 0,
			"180 of 1076 requests (16.7 %) failed on fresh during the outage of kill one worker; " + victims + "220; " +
				"the last was sent 5.008s after the victims of kill one worker had last answered, and at most 9s was predicted" + noneMissed},
		{"no failure at all", killed(), predicted, verdict.Held, 0, "no request failed, although the victims had answered before, " +
			"through 0 pod terminations and 1 node loss; failures had to end within 9s" + noneMissed},
		{"no failure, and no victim had answered", killed().EditRequests(func(r *history.Request) {
			if r.Node == "w3" {
				r.Pod, r.Node = "backend-4", "w4"
			}
		}), predicted, verdict.Unknown, 0,
			"no verdict: backend-3, which kill one worker took, answered no request on fresh in the 3s before the fault (and 1 more reason)"},
		{"too late", outage().Fail(history.LaneFresh, 25005*ms, 25015*ms, history.Reset), predicted, verdict.Violated, 25005 * ms,
			"2 requests failed outside the predicted time; the first was sent at 25.005s on fresh: reset, 9.023s after " +
				"the victims of kill one worker had last answered, and at most 9s was predicted"},
		{"so near to the last moment that the worker's clock does not tell on which side", onceMore(outage(), 24982*ms), predicted, verdict.Unknown, 0, "no verdict: 1 request failed so near to the moment from or until which it was allowed that the clocks of the load workers, known to 300µs, do not tell the order"},
		{"in the last moment", onceMore(outage(), 24980*ms), predicted, verdict.Held, 0,
			"181 of 1875 requests (9.65 %) failed on fresh during the outage of kill one worker; " + victims + "365; " +
				"the last was sent 8.998s after the victims of kill one worker had last answered, and at most 9s was predicted" + noneMissed},
		{"later than a victim that died when it last answered, and not than one that died when it first let somebody down",
			onceMore(outage(), 24985*ms), predicted, verdict.Unknown, 0,
			"no verdict: 1 request failed so late that it was allowed only if the victims died at the last moment that the record leaves open"},
		{"within a limit of its own", failVictims(killed(), history.LaneFresh, 15600*ms, 18900*ms), fresh, verdict.Held, 0,
			"110 of 656 requests (16.8 %) failed on fresh during the outage of kill one worker; " + victims + "141; " +
				"the last was sent 2.908s after the victims of kill one worker had last answered, and at most 3s was promised" + noneMissedOnFresh},
		{"beyond a limit of its own", outage(), fresh, verdict.Violated, 19010 * ms,
			"67 requests failed outside the promised time; the first was sent at 19.01s on fresh: timeout-connect, 3.028s after " +
				"the victims of kill one worker had last answered, and at most 3s was promised"},
		{"a limit that is looser than the prediction", outage().Node(31500*ms, ht.ReadyNode("w6", "c")), invariant.FailuresEndWithin{Limit: 14 * second}, verdict.Held, 0,
			"180 of 1076 requests (16.7 %) failed on fresh during the outage of kill one worker; " + victims + "220; the last was sent 5.008s after " +
				"the victims of kill one worker had last answered, and at most 14s was promised, although 9s is predicted for a lost node" + noneMissed},
		{"on a lane that is not promised", failVictims(killed(), history.LaneReused, 15600*ms, 27*second), fresh, verdict.Held, 0,
			"no request failed, although the victims had answered before, through 0 pod terminations and 1 node loss; " +
				"failures had to end within 3s" + noneMissedOnFresh},
		{"before the fault", failVictims(killed(), history.LaneFresh, 12*second, 12050*ms), predicted, verdict.Unknown, 0,
			"no verdict: 1 of 1 failure came before anything was disturbed: the system was not well before"},
		{"more than the victims' share", astray(killed(), 16*second, 17*second, history.Refused), predicted,
			verdict.Violated, 16 * second,
			"more than the victims' share failed: 200 of 200 requests (100 %) failed on fresh during the outage of kill one worker; " +
				victims + "52"},
		{"a share that sampling explains", behindAService(killed()).EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneFresh && r.Due >= 16*second && r.Due < 17*second && r.Seq%4 == 0 {
				r.Outcome, r.Pod, r.Node = history.TimeoutConnect, "", ""
			}
		}), predicted, verdict.Held, 0,
			"50 of 198 requests (25.3 %) failed on fresh during the outage of kill one worker; " + victims + "52; " +
				"the last was sent 998ms after the victims of kill one worker had last answered, and at most 9s was predicted" + noneMissed},
		{"a server that no fault touched", outage().EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneReused && r.Seq == 1401 {
				r.Outcome, r.Status = history.BadStatus, 500
			}
		}), predicted, verdict.Violated, 17005 * ms,
			"1 request failed at pods that no fault had affected; the first was sent at 17.005s on reused: bad-status, backend-4 on w4"},
		{"healed before failures had to end", setStage(outage(), history.Healing, 24*second), predicted, verdict.Unknown, 0,
			"no verdict: kill one worker began to be reverted at 24s, before failures had to end at 24.982s"},
		{"no endpoints known", outage().DropEvents(func(e history.Event) bool { return e.Slice != nil }), predicted,
			verdict.Unknown, 0, "no verdict: no service had an endpoint on the victims of kill one worker"},
		{"two services on the victim", twoServices(outage()).Header(func(h *history.Header) { // whose lanes name none
			for i := range h.Plan.Lanes {
				h.Plan.Lanes[i].Target = ""
			}
		}), predicted, verdict.Unknown, 0,
			"no verdict: backend and gateway had endpoints on the victims of kill one worker; the promise must name one"},
		{"two services, one named", twoServices(failVictims(killed(), history.LaneFresh, 16*second, 17*second)),
			invariant.FailuresEndWithin{Service: "backend"}, verdict.Held, 0,
			"33 of 194 requests (17 %) failed on fresh during the outage of kill one worker; " + victims + "51; " +
				"the last was sent 988ms after the victims of kill one worker had last answered, and at most 9s was predicted" + noneMissed},
		{"unknown", outage().Incomplete("cut off"), predicted, verdict.Unknown, 0, "no verdict: the record is incomplete: cut off"},
	})
}

func TestFailuresEndWithinNumbers(t *testing.T) {
	run := failVictims(killed(), history.LaneFresh, 15600*ms, noticedAt).Run()
	v := judge.Check(run, invariant.FailuresEndWithin{})
	numbers(t, v, map[string]float64{
		"limitSeconds": 9, "measuredSeconds": 5.008, "victimsShare": 1.0 / 6, "failedShare.fresh": 180.0 / 1076,
		"allowedShare.fresh": 220.0 / 1076, "failed": 180, "failedOutside": 0, "nodeLosses": 1,
	})
	lines(t, v, "in the 3s before, the victims of kill one worker answered 100 requests on fresh (1 of 1 pod), 100 requests on reused (1 of 1 pod)",
		"180 of 1076 requests (16.7 %) failed on fresh during the outage of kill one worker; "+
			"the victims had 1 of 6 endpoints of backend, 16.7 %, which with sampling error allows 220",
		"180 of 180: lost on a connection to a pod on a lost node (node-lost-connection): backend-3 on w3; inferred from the connection")
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
	check(t, b.Run(), invariant.FailuresEndWithin{Lanes: []history.Lane{history.LaneFresh}}, verdict.Held, 0,
		"700 of 1600 requests (43.8 %) failed on fresh during the outage of kill one worker and kill another; "+
			"the victims had 3 of 6 endpoints of backend, 50 %, which with sampling error allows 863; "+
			"the last was sent 7.993s after the victims of kill another had last answered, and at most 9s was predicted"+noneMissedOnFresh)
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
