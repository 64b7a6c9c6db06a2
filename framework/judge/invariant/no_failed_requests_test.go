package invariant_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// reconfigured is a run in which no pod ended, and the fault's witness saw a change in six pods, or in a network.
func reconfigured(nodes []string) *ht.Builder {
	return blocked().EditEvents(func(e *history.Event) {
		if e.Fault == nil {
			return
		}
		e.Fault.Nodes = nodes
		if e.Fault.Stage == history.Seen {
			e.Fault.Hit = 6
		}
	})
}

func TestNoFailedRequests(t *testing.T) {
	all := invariant.NoFailedRequests{}
	reused := invariant.NoFailedRequests{Lanes: []history.Lane{history.LaneReused}}
	checkAll(t, []sample{
		{"held", ht.Healthy(), all, verdict.Held, 0},
		{"a lost node counts as a disruption", killed(), all, verdict.Held, 0},
		{"violated", ht.Healthy().Fail(history.LaneFresh, 17*second, 17100*ms, history.Refused), all, verdict.Violated, 17 * second},
		{"a masked retry is a failure", ht.Healthy().EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneReused && r.Seq == 3000 {
				r.Outcome, r.Attempts = history.Masked, 2
			}
		}), all, verdict.Violated, 25 * second},
		{"a masked retry, and it is known who failed", ht.Healthy().EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneReused && r.Seq == 3000 {
				r.Outcome, r.Attempts, r.Inferred = history.Masked, 2, true
			}
		}), all, verdict.Violated, 25 * second},
		{"restarted pods are disruptions", restarted(), all, verdict.Held, 0},
		{"pods that see another configuration", reconfigured(nil), all, verdict.Held, 0},
		{"the same witness of a network", reconfigured([]string{"w2"}), all, verdict.Held, 0},
		{"refused evictions take nothing away", blocked(), all, verdict.Unknown, 0},
		{"refused evictions, where they are what is meant", blocked(), invariant.NoFailedRequests{Refused: true}, verdict.Held, 0},
		{"no evictions were refused", blocked().DropEvents(func(e history.Event) bool { return e.Eviction != nil }),
			invariant.NoFailedRequests{Refused: true}, verdict.Unknown, 0},
		{"failures on a lane that is not promised", ht.Healthy().Fail(history.LaneFresh, 17*second, 17100*ms, history.Refused), reused, verdict.Held, 0},
		{"before any fault", ht.Healthy().Fail(history.LaneReused, 11*second, 11010*ms, history.Reset), all, verdict.Unknown, 0},
		{"before any fault and after it", ht.Healthy().Fail(history.LaneReused, 11*second, 11010*ms, history.Reset).Fail(history.LaneReused, 31*second, 31010*ms, history.Reset), all,
			verdict.Violated, 31 * second},
		{"after load has ended", ht.Healthy().Request(history.Request{Due: 40*second + 2*ms, Outcome: history.Refused}), all, verdict.Held, 0},
		{"unknown", ht.Healthy().Incomplete("events.jsonl: cut off"), all, verdict.Unknown, 0},
		{"a failure in a record that was cut off is proof", ht.Healthy().Incomplete("cut off").
			Fail(history.LaneFresh, 17*second, 17005*ms, history.Refused), all, verdict.Violated, 17 * second},
		{"cut off before the end", ht.Healthy().Incomplete("cut off").DropEvents(func(e history.Event) bool { return e.T > 20*second }).
			WithoutTotals().Fail(history.LaneFresh, 17*second, 17005*ms, history.Refused), all, verdict.Violated, 17 * second},
		{"requests that cannot be read", ht.Healthy().FailReading(errors.New("worker-0.csv has checksum 00000000")), all, verdict.Unknown, 0},
		{"no load", ht.New().Phase(history.Steady, 0).Phase(history.Disturbed, 1).Phase(history.Recovered, 2).Phase(history.Drained, 3), all, verdict.Unknown, 0},
	})
}

// restarted is a node that was killed and back before anybody noticed; its pod had restarted before, too.
func restarted() *ht.Builder {
	b := killed().DropEvents(func(e history.Event) bool { return e.T > ht.DisturbedAt && (e.Node != nil || e.Pod != nil) })
	p := ht.ReadyPod("backend-3", "w3", history.Modified)
	p.Restarts = 1
	b.Pod(12*second, p).Pod(17*second, p)
	p.Restarts = 3
	return b.Pod(18*second, p)
}

func TestNodesGoByTheirShortNames(t *testing.T) {
	b := ht.Healthy().Fail(history.LaneFresh, 17*second, 17005*ms, history.Refused)
	b.EditRequests(func(r *history.Request) { r.Node = "holdfast-test-" + r.Node })
	v := check(t, b.Run(), invariant.NoFailedRequests{}, verdict.Violated, 17*second)
	if want := "17s fresh #1400 of worker-0: refused after 2ms, backend-2 on w2 (inferred)"; v.Evidence[0] != want {
		t.Errorf("%q, want %q", v.Evidence[0], want)
	}
}

// TestMaskedByTheGateway: what the gateway hid from the client is no failure, and yet told.
func TestMaskedByTheGateway(t *testing.T) {
	run := ht.Healthy().EditRequests(func(r *history.Request) {
		r.GatewayTries = 1
		if r.Due >= 17*second && r.Due < 17100*ms {
			r.GatewayTries = 2
		}
	}).Run()
	v := judge.Check(run, invariant.NoFailedRequests{})
	if v.Outcome != verdict.Held {
		t.Errorf("%s: %s", v.Outcome, v.Seen)
	}
	numbers(t, v, map[string]float64{"maskedByGateway": 40, "failed": 0})
}

func TestNoFailedRequestsEvidence(t *testing.T) {
	held := check(t, ht.Healthy().Run(), invariant.NoFailedRequests{}, verdict.Held, 0)
	lines(t, held)
	numbers(t, held, map[string]float64{
		"requests": 12000, "requests.fresh": 6000, "failed": 0, "podTerminations": 1, "nodeLosses": 0, "upperBound95.reused": 0.0005,
	})

	noisy := ht.Healthy().Load(history.LaneControl, 20, ht.SteadyAt, ht.DrainedAt).
		Fail(history.LaneFresh, 17*second, 17100*ms, history.Refused).
		Fail(history.LaneReused, 25*second, 25005*ms, history.BadStatus).
		Fail(history.LaneControl, 17*second, 17100*ms, history.TimeoutResponse)
	noisy.EditRequests(func(r *history.Request) {
		if r.Outcome == history.BadStatus {
			r.Status, r.Inferred, r.Err = 503, false, "503 Service Unavailable"
		}
		if r.Outcome == history.Refused {
			r.Err = "dial: connect: connection refused"
		}
	}).Trouble(39*second, "logs could not be collected")
	broken := check(t, noisy.Run(), invariant.NoFailedRequests{}, verdict.Violated, 17*second)
	lines(t, broken)
	numbers(t, broken, map[string]float64{"failed": 21, "firstFailureSeconds": 17, "lastFailureSeconds": 25, "cause.cut-while-ready": 20, "unattributed": 0})
}

// TestLagIsInTheNumbers: of each lane that is judged, from the rows themselves.
func TestLagIsInTheNumbers(t *testing.T) {
	v := judge.Check(ht.Healthy().EditRequests(func(r *history.Request) {
		switch {
		case r.Lane != history.LaneFresh:
		case r.Seq == 77:
			r.Sent += 40 * ms
			r.Done += 40 * ms
		case r.Seq%20 == 0:
			r.Sent += 3 * ms
			r.Done += 3 * ms
		default:
			r.Sent += 10 * time.Microsecond
			r.Done += 10 * time.Microsecond
		}
	}).Run(), invariant.NoFailedRequests{})

	numbers(t, v, map[string]float64{"lagMaxSeconds.fresh": 0.04, "lagP50Seconds.fresh": 0.000011, "lagMaxSeconds.reused": 0})
	if got := v.Numbers["lagP99Seconds.fresh"]; got < 0.003 || got > 0.0031 {
		t.Errorf("the 99th percentile is %vs, want 3ms", got)
	}
}
