package invariant_test

import (
	"fmt"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// another adds a second fault to killed, which bites w5; the stages are in order, and one that is negative never came.
func another(b *ht.Builder, at ...history.Offset) *ht.Builder {
	for i, stage := range []history.FaultStage{history.Injecting, history.Seen, history.Healing, history.Healed} {
		mark := history.FaultMark{ID: 1, Name: "kill another", Stage: stage}
		if stage == history.Seen {
			mark.Nodes = []string{"w5"}
		}
		if at[i] >= 0 {
			b.Fault(at[i], mark)
		}
	}
	return b
}

// TestFailuresNobodyCanPlace: a failure breaks the promise only if it is known that no fault explains it.
func TestFailuresNobodyCanPlace(t *testing.T) {
	p := invariant.FailuresEndWithin{}
	fails := func(b *ht.Builder, from, to history.Offset) *ht.Builder {
		return failVictims(b, history.LaneFresh, from, to)
	}
	inFlight := func(done history.Offset) *ht.Builder { // three requests to the victim, sent just before the fault began
		return killed().EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneFresh && r.Node == "w3" && r.Sent >= killAt-90*ms && r.Sent < killAt {
				r.Outcome, r.Inferred, r.Done = history.Reset, true, done
			}
		})
	}
	unseen := func() *ht.Builder { return setStage(killed(), history.Seen, -1) }
	w4 := func(b *ht.Builder) *ht.Builder { // answers wrongly, and is no victim of the first fault
		return b.EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneReused && r.Node == "w4" && r.Sent >= 22*second && r.Sent < 22100*ms {
				r.Outcome, r.Status = history.BadStatus, 500
			}
		})
	}
	refused := func() *ht.Builder { return astray(killed(), 16*second, 17*second, history.Refused) }
	noTimings := func(b *ht.Builder) *ht.Builder {
		return b.Header(func(h *history.Header) { h.Cluster.Timings = history.Timings{} })
	}
	checkAll(t, []sample{
		{"in flight when the fault began", inFlight(killAt + 50*ms), p, verdict.Held, 0},
		{"over when the fault began", inFlight(killAt - ms), p, verdict.Unknown, 0},
		{"over when the fault began, or just after: the worker's clock is not known so precisely", inFlight(killAt - 1), p, verdict.Unknown, 0},

		{"after a fault that was never seen", fails(unseen(), 16*second, 17*second), p, verdict.Unknown, 0},
		{"before a fault that was never seen", fails(unseen(), 12*second, 12050*ms), p, verdict.Unknown, 0},
		{"with a fault whose beginning was lost", fails(setStage(killed(), history.Injecting, -1), 12*second, 17*second), p, verdict.Unknown, 0},
		{"with a fault that went wrong", fails(unseen(), 16*second, 17*second).Fault(20*second, history.FaultMark{
			Name: "kill one worker", Stage: history.Seen, Error: "w3 still answers",
		}), p, verdict.Unknown, 0},
		{"at a pod that a second fault may have bitten", w4(another(killed(), 20*second, -1, 31*second, 32*second)), p, verdict.Unknown, 0},
		{"at a pod that no fault bit", w4(another(killed(), 20*second, 21*second, 31*second, 32*second)), p, verdict.Violated, 22010 * ms},

		{"late, by no timings", fails(noTimings(killed()), 16*second, 24*second), p, verdict.Unknown, 0},
		{"late, by a limit of its own", fails(noTimings(killed()), 16*second, 24*second), invariant.FailuresEndWithin{Limit: 3 * second}, verdict.Violated, 19010 * ms},

		{"more than the share that is not known", refused().Gap("endpointslices", 15*second, 15600*ms), p, verdict.Unknown, 0},
		{"more than the share, and a gap long before", refused().Gap("endpointslices", 11*second, 12*second), p, verdict.Violated, 16 * second},
	})
}

// TestOutageOfAnyLength: a fault may be said to have been seen whenever a damaged record likes; an outage of more than
// an hour is not counted.
func TestOutageOfAnyLength(t *testing.T) {
	v := judge.Check(failVictims(setStage(killed(), history.Seen, 2*3600*second), history.LaneFresh, 16*second, 17*second).Run(), invariant.FailuresEndWithin{})
	if v.Outcome != verdict.Unknown || len(v.Evidence) < 2 ||
		v.Evidence[1] != "kill one worker was seen to take effect at 2h0m0s, which is impossible after 15.5s" {
		t.Errorf("%s: %s %q", v.Outcome, v.Seen, v.Evidence)
	}
}

// TestTwoOutages: faults that lie apart are two outages, each with its own victims; between them nothing may fail.
func TestTwoOutages(t *testing.T) {
	p := invariant.FailuresEndWithin{Limit: 2 * second}
	apart := func(from, to history.Offset) *ht.Builder {
		b := another(killed(), 22*second, 22500*ms, 29*second, 31*second)
		return b.EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneFresh && (r.Node == "w5" || r.Node == "w3" && r.Sent < 18*second) && r.Sent >= from && r.Sent < to {
				r.Outcome, r.Inferred = history.TimeoutConnect, true
			}
		})
	}
	checkAll(t, []sample{
		{"held", apart(22100*ms, 24500*ms), p, verdict.Held, 0},
		{"between them", apart(20*second, 20030*ms), p, verdict.Violated, 20010 * ms},
	})
}

// TestMoreThanIsCounted: a record with more lanes or workers than are counted proves nothing, and breaks nothing.
func TestMoreThanIsCounted(t *testing.T) {
	const doubt = "the record has more than 1024 workers or 16 lanes"
	lanes := killed()
	for i := range 16 {
		lanes.Request(history.Request{Lane: history.Lane(fmt.Sprint("lane-", i)), Due: 11 * second})
	}
	lanes.Request(history.Request{Lane: "one-too-many", Due: 17 * second, Outcome: history.Reset})
	workers := ht.Healthy()
	for i := range 1100 {
		workers.Request(history.Request{Worker: fmt.Sprint("worker-", i), Due: 11 * second})
	}
	for name, b := range map[string]*ht.Builder{"lanes": lanes, "workers": workers} {
		for _, p := range []invariant.Invariant{invariant.NoFailedRequests{}, invariant.FailuresEndWithin{}} {
			v := judge.Check(b.Run(), p)
			if v.Outcome == verdict.Held || v.Outcome == verdict.Unknown && v.Evidence[0] != doubt {
				t.Errorf("%s: %s is %s: %s %q", name, v.Kind, v.Outcome, v.Seen, v.Evidence)
			}
		}
	}
	if v := judge.Check(lanes.Run(), (invariant.NoFailedRequests{})); v.Outcome != verdict.Violated {
		t.Errorf("a failure on a lane that is not counted is %s: %s", v.Outcome, v.Seen)
	}
}
