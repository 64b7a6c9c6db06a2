package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// stoodStill adds the sample of a harness that had stood still for a while, taken at the moment given.
func stoodStill(b *ht.Builder, at, pause history.Offset) *ht.Builder {
	return heard(b, at, history.Noise{Of: history.NoiseHarness, Pause: pause})
}

// TestAHarnessThatStoodStillDatesLate: a verdict stands if it does for every moment at which what the harness dated may have
// happened. A pause that is shorter than what a promise was kept, or broken, by is none of its business.
func TestAHarnessThatStoodStillDatesLate(t *testing.T) {
	// 5 s of traffic after a deletion, which was told when half of it was over.
	toldLate := func(by history.Offset) *ht.Builder {
		return quietIn(history.LaneFresh, 2500*ms+by).EditEvents(func(e *history.Event) {
			if e.T == ht.EvictedAt && e.Pod != nil && e.Pod.Name == ht.Victim {
				e.T += by
			}
		})
	}
	quiet := invariant.QuietWithin{Limit: 3 * second}
	// Evicted at 17 s and 17.6 s; the first was replaced by 19 s, as was told.
	evicted := func() *ht.Builder { return evict(ht.Healthy(), 2, 17600*ms) }
	budget := invariant.BudgetHonoured{}
	recovers := func(limit history.Offset) invariant.Invariant { return invariant.RecoversWithin{Limit: limit} }
	spread := func(limit history.Offset) invariant.Invariant {
		return invariant.SpreadWithin{Workload: "backend", TopologyKey: ht.ZoneLabel, Max: 1, Limit: limit}
	}
	restored := func() *ht.Builder { // 10.3 s after the fault was seen at 14 s
		return unbalanced(func(s *stepped) {
			s.at = 24 * second
			s.to("w3", "w4", "w5", "w6", "w1", "w2")
		})
	}
	resumes := func(limit history.Offset) invariant.Invariant { return invariant.Resumes{Limit: limit} }
	drained := invariant.DrainCompletes{}
	left := func() *ht.Builder { // the victim is gone 50 ms after the revert began, as was told
		return ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Pod != nil && e.T == ht.GoneAt {
				e.T = ht.HealingAt + 50*ms
			}
		})
	}
	for _, test := range []struct {
		name    string
		run     *ht.Builder
		promise invariant.Invariant
		want    verdict.Outcome
	}{
		{"traffic after a deletion, as it is told", toldLate(2500 * ms), quiet, verdict.Held},
		{"traffic after a deletion that was told 2.5 s late", stoodStill(toldLate(2500*ms), 19600*ms, 2500*ms), quiet, verdict.Unknown},
		{"the same, and the pause is in the next sample", stoodStill(toldLate(2500*ms), 20600*ms, 2500*ms), quiet, verdict.Unknown},
		{"the same, told just after the sample", stoodStill(toldLate(2500*ms), 19400*ms, 2500*ms), quiet, verdict.Unknown},
		{"told 0.6 s late, where half a second was left", stoodStill(toldLate(600*ms), 17700*ms, 600*ms), quiet, verdict.Unknown},
		{"told 180 ms late, where half a second was left", stoodStill(toldLate(180*ms), 17300*ms, 180*ms), quiet, verdict.Held},
		{"a pause long after", stoodStill(toldLate(0), 25*second, 900*ms), quiet, verdict.Held},
		{"a worker that stood still", heard(toldLate(0), 17500*ms, history.Noise{Of: ht.Worker, Pause: 2 * second}), quiet, verdict.Held},
		{"traffic for 4 s, whenever the deletion was", stoodStill(quietIn(history.LaneFresh, 4*second), 17300*ms, 900*ms), quiet, verdict.Violated},

		{"an eviction too many, as it is told", evicted(), budget, verdict.Violated},
		{"the replacement was ready while the harness stood still", stoodStill(evicted(), 19050*ms, 1400*ms), budget, verdict.Unknown},
		{"a pause as usual", stoodStill(evicted(), 19050*ms, 180*ms), budget, verdict.Violated},
		{"nothing was wrong, but a long pause may hide it", stoodStill(ht.Healthy(), 17500*ms, 1400*ms), budget, verdict.Unknown},
		{"a long pause long after", stoodStill(ht.Healthy(), 27500*ms, 1400*ms), budget, verdict.Held},

		{"recovered in time, though told late", stoodStill(killed(), 31600*ms, 180*ms), recovers(1500 * ms), verdict.Held},
		{"recovered too late by less than a pause", stoodStill(killed(), 31600*ms, 180*ms), recovers(1400 * ms), verdict.Unknown},
		{"recovered too late by less than a pause when the revert began", stoodStill(killed(), 30100*ms, 180*ms), recovers(1400 * ms), verdict.Unknown},
		{"recovered too late by more than a pause", stoodStill(killed(), 31600*ms, 180*ms), recovers(second), verdict.Violated},
		{"recovered too late by less than a long pause", stoodStill(killed(), 31600*ms, 1300*ms), recovers(second), verdict.Unknown},

		{"restored in time", stoodStill(restored(), 14100*ms, 180*ms), spread(11 * second), verdict.Held},
		{"restored in time, if the fault was not there before", stoodStill(restored(), 14100*ms, 180*ms), spread(10400 * ms), verdict.Unknown},
		{"restored too late by less than a pause", stoodStill(restored(), 24400*ms, 180*ms), spread(10200 * ms), verdict.Unknown},
		{"restored too late by more than a pause", stoodStill(restored(), 24400*ms, 180*ms), spread(10 * second), verdict.Violated},

		{"resumed too late by less than a pause", stoodStill(stalled(53*second), 53100*ms, 180*ms), resumes(2900 * ms), verdict.Unknown},
		{"resumed too late by more than a pause", stoodStill(stalled(53*second), 53100*ms, 180*ms), resumes(2 * second), verdict.Violated},
		{"came to be ready just after the revert began", stalled(50100 * ms), resumes(5 * second), verdict.Held},
		{"or just before", stoodStill(stalled(50100*ms), 50200*ms, 180*ms), resumes(5 * second), verdict.Unknown},

		{"a pod left behind", left(), drained, verdict.Violated},
		{"a pod that may have gone before", stoodStill(left(), 30100*ms, 180*ms), drained, verdict.Unknown},
		{"a pod that stayed for longer than a pause", stoodStill(left(), 30100*ms, 40*ms), drained, verdict.Violated},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := judge.Check(test.run.Run(), test.promise)
			if v.Outcome != test.want {
				t.Errorf("got %s, want %s: %s %q", v.Outcome, test.want, v.Seen, v.Evidence)
			}
		})
	}
}

// TestALateReplacement: by what was seen 6.9 s after the outage, or before.
func TestALateReplacement(t *testing.T) {
	first := judge.Check(replaced().Run(), invariant.ReplacedWithin{Limit: 40 * second})
	took := history.Offset(first.Numbers["replacedSeconds"] * float64(second))
	if first.Outcome != verdict.Held || took == 0 {
		t.Fatalf("%s: %s", first.Outcome, first.Seen)
	}
	for _, test := range []struct {
		name  string
		run   *ht.Builder
		limit history.Offset
		want  verdict.Outcome
	}{
		{"just in time", replaced(), took, verdict.Held},
		{"just in time, if the fault was not there before", stoodStill(replaced(), outAt+50*ms, 180*ms), took, verdict.Unknown},
		{"in time by more than a pause", stoodStill(replaced(), outAt+50*ms, 180*ms), took + 200*ms, verdict.Held},
		{"too late by less than a pause", stoodStill(replaced(), outAt+took+50*ms, 180*ms), took - 100*ms, verdict.Unknown},
		{"too late by more than a pause", stoodStill(replaced(), outAt+took+50*ms, 180*ms), took - 300*ms, verdict.Violated},
	} {
		if v := judge.Check(test.run.Run(), (invariant.ReplacedWithin{Limit: test.limit})); v.Outcome != test.want {
			t.Errorf("%s: got %s, want %s: %s", test.name, v.Outcome, test.want, v.Seen)
		}
	}
}

// TestThePauseIsNamed: whoever reads the verdict learns what was in doubt, and by how much.
func TestThePauseIsNamed(t *testing.T) {
	check(t, stoodStill(killed(), 31600*ms, 180*ms).Run(), invariant.RecoversWithin{Limit: 1400 * ms}, verdict.Unknown, 0)
	v := judge.Check(stoodStill(evict(ht.Healthy(), 2, 17600*ms), 19050*ms, 1400*ms).Run(), invariant.BudgetHonoured{})
	if want := "no verdict: how many pods were healthy when "; v.Outcome != verdict.Unknown || len(v.Seen) < len(want) || v.Seen[:len(want)] != want {
		t.Errorf("%s: %s %q", v.Outcome, v.Seen, v.Evidence)
	}
}
