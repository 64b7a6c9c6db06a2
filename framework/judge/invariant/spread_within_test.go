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
	const bad, good = "a=0 b=3 c=3 (6 replicas)", "a=2 b=2 c=2 (6 replicas)"
	checkAll(t, []sample{
		{"held", unbalanced(restored), within(20 * second), verdict.Held, 0,
			"the spread of backend was restored 10.3s after the fault was seen at 14s: from " + bad + ", skew 3, to " + good + ", skew 0"},
		{"just in time", unbalanced(restored), within(10300 * ms), verdict.Held, 0,
			"the spread of backend was restored 10.3s after the fault was seen at 14s: from " + bad + ", skew 3, to " + good + ", skew 0"},
		{"too late", unbalanced(restored), within(10 * second), verdict.Violated, 24 * second,
			"the spread of backend was restored 10.3s after the fault was seen at 14s, and 10s was the limit: " + good},
		{"never", unbalanced(nothing), within(20 * second), verdict.Violated, 34 * second,
			"the spread of backend was not restored 41s after the fault was seen at 14s: " + bad + ", skew 3, and 1 is allowed"},
		{"half", unbalanced(func(s *stepped) { s.at = 20 * second; s.to("w3", "w4", "w5", "w6", "w5", "w1") }),
			within(20 * second), verdict.Violated, 34 * second,
			"the spread of backend was not restored 41s after the fault was seen at 14s: a=1 b=2 c=3 (6 replicas), skew 2, and 1 is allowed"},
		{"restored, and lost again", unbalanced(func(s *stepped) {
			restored(s)
			s.at = 30 * second
			s.to("w3", "w4", "w5", "w6", "w4", "w6")
		}), within(20 * second), verdict.Violated, 34 * second,
			"the spread of backend was not restored 41s after the fault was seen at 14s: " + bad + ", skew 3, and 1 is allowed"},
		{"not watched for long enough", unbalanced(nothing), within(42 * second), verdict.Unknown, 0,
			"no verdict: the spread of backend was not restored when the record ended, 41s after the fault was seen: " + bad},
		{"a larger skew is allowed, so nothing was unbalanced", unbalanced(restored),
			invariant.SpreadWithin{TopologyKey: ht.ZoneLabel, Max: 3, Limit: 20 * second}, verdict.Unknown, 0,
			"no verdict: backend was never seen settled with a skew above 3 after the fault began at 11s: there was nothing to restore"},
		{"only bad before the fault", setStage(newStepped().to("w1", "w2", "w3").to("w1", "w3", "w5").Builder, history.Seen, 14*second),
			within(20 * second), verdict.Unknown, 0,
			"no verdict: backend was never seen settled with a skew above 1 after the fault began at 11s: there was nothing to restore"},
		{"the fault was not seen", setStage(unbalanced(restored), history.Seen, -1), within(20 * second), verdict.Unknown, 0,
			"no verdict: scale was never seen in effect"},
		{"it is not settled at the end", unbalanced(func(s *stepped) { restored(s); s.at = 50 * second; s.asked(7) }), within(20 * second),
			verdict.Unknown, 0, "no verdict: backend was asked for 7 replicas and never seen settled with that (and 1 more reason)"},
		{"no workload", unbalanced(restored), invariant.SpreadWithin{Workload: "other", TopologyKey: ht.ZoneLabel, Max: 1, Limit: second},
			verdict.Unknown, 0, "no verdict: the record has no Deployment other"},
		{"not whole", unbalanced(restored).Incomplete("cut off"), within(20 * second), verdict.Unknown, 0,
			"no verdict: the record is incomplete: cut off"},
		{"restored while a watch had a gap from before the deadline", unbalanced(restored).Gap("pods", 17*second, 24*second), within(6 * second),
			verdict.Unknown, 0, "no verdict: the watch of pods had a gap from 17s to 24s: the watch broke off (and 1 more reason)"},
	})
}

func TestSpreadWithinEvidence(t *testing.T) {
	promise := invariant.SpreadWithin{TopologyKey: ht.ZoneLabel, Max: 1, Limit: 20 * second}
	v := judge.Check(unbalanced(func(s *stepped) { s.at = 20 * second; s.to("w3", "w4", "w5", "w6", "w1", "w2") }).Run(), promise)
	numbers(t, v, map[string]float64{"restoredSeconds": 6.3, "limitSeconds": 20, "largestSkew": 3, "allowedSkew": 1})
	lines(t, v, "12.5s: b=3 c=3 (6 replicas) without w1 (cordoned) and w2 (cordoned), skew 0",
		"13.8s: a=0 b=3 c=3 (6 replicas) without w2 (cordoned), skew 3",
		"skew 0 -> 3 at 13.8s: w1 (a) takes pods again, which was closed", "13.9s: a=0 b=3 c=3 (6 replicas), skew 3", "20.3s: a=2 b=2 c=2 (6 replicas), skew 0")
	const words = "the spread of the workload over topology.kubernetes.io/zone is back at a skew of at most 1 within 20s of being unbalanced"
	if promise.String() != words {
		t.Errorf("%q, want %q", promise, words)
	}
}
