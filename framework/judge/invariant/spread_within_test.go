package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// unbalanced is a record of six pods, two in each zone, of which zone a is emptied and opened again. The fault is seen at
// 14 s and undone at 41 s; what comes after it is given by restore, which begins at 14.2 s.
func unbalanced(restore func(s *stepped)) *ht.Builder {
	s := newStepped().to("w1", "w2", "w3", "w4", "w5", "w6")
	s.at = 12 * second
	s.node("w1", "True", true).node("w2", "True", true)
	s.to("w3", "w4", "w5", "w6", "w3", "w5")
	s.at = 13800 * ms
	s.node("w1", "True", false).node("w2", "True", false)
	s.at = 14200 * ms
	restore(s)
	return setStage(s.Builder, history.Seen, 14*second)
}

func TestSpreadWithin(t *testing.T) {
	within := func(limit history.Offset) invariant.Invariant {
		return invariant.SpreadWithin{Workload: "backend", TopologyKey: ht.ZoneLabel, Max: 1, Limit: limit}
	}
	nothing := func(*stepped) {}
	// Pod by pod, as a Descheduler does: one settled state between, a=1 b=2 c=3, is still too uneven.
	restored := func(s *stepped) {
		s.at = 20 * second
		s.to("w3", "w4", "w5", "w6", "w5", "w1")
		s.at = 24 * second
		s.to("w3", "w4", "w5", "w6", "w1", "w2")
	}

	checkAll(t, []sample{
		{"held", unbalanced(restored), within(20 * second), verdict.Held, 0},
		{"just in time", unbalanced(restored), within(10300 * ms), verdict.Held, 0},
		{"too late", unbalanced(restored), within(10 * second), verdict.Violated, 24 * second},
		{"never", unbalanced(nothing), within(20 * second), verdict.Violated, 34 * second},
		{"half", unbalanced(func(s *stepped) { s.at = 20 * second; s.to("w3", "w4", "w5", "w6", "w5", "w1") }),
			within(20 * second), verdict.Violated, 34 * second},
		{"restored, and lost again", unbalanced(func(s *stepped) {
			restored(s)
			s.at = 30 * second
			s.to("w3", "w4", "w5", "w6", "w4", "w6")
		}), within(20 * second), verdict.Violated, 34 * second},
		{"not watched for long enough", unbalanced(nothing), within(42 * second), verdict.Unknown, 0},
		{"a larger skew is allowed, so nothing was unbalanced", unbalanced(restored),
			invariant.SpreadWithin{TopologyKey: ht.ZoneLabel, Max: 3, Limit: 20 * second}, verdict.Unknown, 0},
		{"only bad before the fault", setStage(newStepped().to("w1", "w2", "w3").to("w1", "w3", "w5").Builder, history.Seen, 14*second),
			within(20 * second), verdict.Unknown, 0},
		{"the fault was not seen", setStage(unbalanced(restored), history.Seen, -1), within(20 * second), verdict.Unknown, 0},
		{"it is not settled at the end", unbalanced(func(s *stepped) { restored(s); s.at = 50 * second; s.asked(7) }), within(20 * second),
			verdict.Unknown, 0},
		{"no workload", unbalanced(restored), invariant.SpreadWithin{Workload: "other", TopologyKey: ht.ZoneLabel, Max: 1, Limit: second}, verdict.Unknown, 0},
		{"not whole", unbalanced(restored).Incomplete("cut off"), within(20 * second), verdict.Unknown, 0},
		{"restored while a watch had a gap from before the deadline", unbalanced(restored).Gap("pods", 17*second, 24*second), within(6 * second), verdict.Unknown, 0},
	})
}

func TestSpreadWithinEvidence(t *testing.T) {
	promise := invariant.SpreadWithin{TopologyKey: ht.ZoneLabel, Max: 1, Limit: 20 * second}
	v := judge.Check(unbalanced(func(s *stepped) { s.at = 20 * second; s.to("w3", "w4", "w5", "w6", "w1", "w2") }).Run(), promise)
	numbers(t, v, map[string]float64{"restoredSeconds": 6.3, "limitSeconds": 20, "largestSkew": 3, "allowedSkew": 1})
	lines(t, v)
	const words = "the spread of the workload over topology.kubernetes.io/zone is back at a skew of at most 1 within 20s of being unbalanced"
	if promise.String() != words {
		t.Errorf("%q, want %q", promise, words)
	}
}
