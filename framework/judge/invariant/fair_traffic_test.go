package invariant_test

import (
	"math/rand/v2"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// play sends every request of a lost node's outage to a random server, as a Service does; excess is how many times as
// many fail as were sent to the victim.
func play(run history.Run, seed uint64, excess float64) verdict.Verdict {
	random := rand.New(rand.NewPCG(seed, 3))
	notice := deadAt + history.Offset(random.Int64N(int64(6*second)))
	return judge.Check(withRequests(run, func(r *history.Request) {
		r.Addr, r.Reused = "10.96.0.1:80", false
		if r.Sent >= killAt+100*ms && r.Sent < notice && random.Float64() < excess/6 {
			r.Outcome, r.Pod, r.Node = history.TimeoutConnect, "", ""
		}
	}), invariant.FailuresEndWithin{})
}

// TestFairTrafficIsNotBlamed: at the victims' share, hardly a run is violated; 0.1 % of each lane is what was chosen.
func TestFairTrafficIsNotBlamed(t *testing.T) {
	run := killed().Run()
	violated := 0
	for seed := range uint64(100) {
		switch v := play(run, seed, 1); v.Outcome {
		case verdict.Violated:
			violated++
		case verdict.Unknown:
			t.Fatalf("seed %d: %s", seed, v.Seen)
		}
	}
	if violated > 2 {
		t.Errorf("%d of 100 fair runs are violated", violated)
	}
}

// TestUnfairTrafficIsBlamed: twice the share is noticed nearly always, when the outage lasts long enough to tell.
func TestUnfairTrafficIsBlamed(t *testing.T) {
	run := killed().Run()
	violated := 0
	for seed := range uint64(30) {
		if play(run, seed, 2).Outcome == verdict.Violated {
			violated++
		}
	}
	if violated < 27 {
		t.Errorf("only %d of 30 unfair runs are violated", violated)
	}
}
