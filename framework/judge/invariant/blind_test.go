package invariant_test

import (
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// TestBlindWatchesProveNothing: a promise that is judged by what the watches saw is broken only by what they surely
// saw. A replacement that came while a watch was blind must not look like one that never came.
func TestBlindWatchesProveNothing(t *testing.T) {
	gap := func(b *ht.Builder, from, to history.Offset) *ht.Builder { return b.Gap("pods", from, to) }
	blindFrom := func(from, to string) string {
		return "no verdict: the watch of pods had a gap from " + from + " to " + to + ": the watch broke off"
	}

	// backend-2 is evicted at 17.5 s, half a second after backend-1: the budget demands 5 of 6.
	tooMany := func() *ht.Builder { return evict(ht.Healthy(), 2, 17500*ms) }
	const broken = "the eviction of backend-2, accepted at 17.5s, left 4 healthy pods, and budget backend demands 5 (maxUnavailable 1 of 6)"

	// Until 31.5 s the workload has not recovered; the last revert begins at 30 s.
	recovers := func(limit history.Offset) invariant.Invariant { return invariant.RecoversWithin{Limit: limit} }
	never := func() *ht.Builder {
		return killed().DropEvents(func(e history.Event) bool {
			return e.T > healAt && (e.Workload != nil || e.Pod != nil || e.Slice != nil)
		})
	}
	const late = "backend recovered 1.5s after the last revert began at 30s, and 1s was the limit"
	const notAtAll = "backend had not recovered 10s after the last revert began at 30s: 5 of 6 replicas ready, 6 pods, 5 ready endpoints"

	// The spread is bad from 3.3 s on, and settled as it is until 3.8 s, when it becomes good.
	zones := invariant.Spread{TopologyKey: ht.ZoneLabel, Max: 1}
	bad := func() *ht.Builder { return newStepped().to("w1", "w2", "w3").to("w1", "w2", "w3", "w5").Builder }
	const spread = "backend was spread at 3.3s as a=2 b=1 c=0 (3 replicas): skew 2, and 1 is allowed; chosen by the scheduler"

	checkAll(t, []sample{
		{"an eviction in sight", gap(tooMany(), 20*second, 21*second), invariant.BudgetHonoured{}, verdict.Violated, 17500 * ms, broken},
		{"an eviction in a gap", gap(tooMany(), 16500*ms, 18*second), invariant.BudgetHonoured{}, verdict.Unknown, 0, blindFrom("16.5s", "18s") + " (and 1 more reason)"},
		{"an eviction within the skew of a gap", gap(tooMany(), 18500*ms, 21*second), invariant.BudgetHonoured{}, verdict.Unknown, 0,
			blindFrom("18.5s", "21s") + " (and 1 more reason)"},
		{"an eviction just beyond the skew", gap(tooMany(), 18501*ms, 21*second), invariant.BudgetHonoured{}, verdict.Violated, 17500 * ms, broken},
		{"an eviction, and a gap in what no promise reads", tooMany().Gap("events", 16500*ms, 18*second), invariant.BudgetHonoured{},
			verdict.Violated, 17500 * ms, broken},

		{"late, and a gap long before", gap(killed(), 30100*ms, 30499*ms), recovers(second), verdict.Violated, 31 * second, late},
		{"late, and a gap that ends with the recovery", gap(killed(), 30100*ms, 31500*ms), recovers(second), verdict.Unknown, 0,
			blindFrom("30.1s", "31.5s")},
		{"late, and the list took its time", gap(killed(), 30100*ms, 31*second), recovers(second), verdict.Unknown, 0, blindFrom("30.1s", "31s")},
		{"seen late before the gap", gap(killed(), 31200*ms, 31500*ms), recovers(second), verdict.Violated, 31 * second, late},
		{"in time in spite of a gap", gap(killed(), 30100*ms, 30500*ms), recovers(2 * second), verdict.Unknown, 0, blindFrom("30.1s", "30.5s")},
		{"never, as far as was seen", gap(never(), 34*second, 45*second), recovers(5 * second), verdict.Unknown, 0, blindFrom("34s", "45s")},
		{"never, and seen so after a gap", gap(never(), 34*second, 36*second), recovers(5 * second), verdict.Violated, 35 * second, notAtAll},

		{"a bad spread in sight", gap(bad(), 30*second, 31*second), zones, verdict.Violated, 3300 * ms, spread},
		{"a bad spread in a gap only", gap(bad(), 3200*ms, 4*second), zones, verdict.Unknown, 0, blindFrom("3.2s", "4s")},
	})

	// Bad in a gap, and again when all watches can see.
	again := newStepped().to("w1", "w2", "w3")
	again.at = 6 * second
	p := again.pods["backend-1"]
	p.Restarts = 1
	check(t, again.Pod(again.at, p).Gap("pods", 3200*ms, 4*second).Run(), zones, verdict.Violated, 3300*ms, spread)
}

// TestBlindBudgetEvidence: the eviction that might have broken the promise is told.
func TestBlindBudgetEvidence(t *testing.T) {
	v := judge.Check(evict(ht.Healthy(), 2, 17500*ms).Gap("pods", 16500*ms, 18*second).Run(), invariant.BudgetHonoured{})
	numbers(t, v, map[string]float64{"accepted": 2, "ambiguous": 1})
}

// TestPodsInNoDomain: pods on nodes that have no zone are in no zone that could be compared.
func TestPodsInNoDomain(t *testing.T) {
	zones := invariant.Spread{TopologyKey: ht.ZoneLabel, Max: 1}
	bare := func(label map[string]string) *stepped {
		s := newStepped()
		s.Node(2*second, history.Node{Name: "bare", Ready: "True", Labels: label})
		return s
	}
	for name, s := range map[string]struct {
		run  *stepped
		want string
	}{
		"some": {bare(nil).to("w1", "w3", "w5").to("w1", "w3", "w5", "bare", "bare"), "no verdict: backend had 2 pods in no domain at 3.8s"},
		"all":  {bare(nil).to("bare", "bare"), "no verdict: backend had 2 pods in no domain at 3.3s"},
		"unknown node": {newStepped().to("w1", "w3", "w5").to("w1", "w3", "w5", "w9"),
			"no verdict: backend had 1 pod in no domain at 3.8s"},
		"of the wrong pool": {func() *stepped {
			s := bare(map[string]string{ht.ZoneLabel: "a", "pool": "other"}).to("w1", "w3", "w5", "bare")
			s.EditEvents(func(e *history.Event) {
				if e.Workload != nil {
					e.Workload.NodeSelector = map[string]string{"pool": "a"}
				}
				if e.Node != nil && slices.Contains([]string{"w1", "w3", "w5"}, e.Node.Name) {
					e.Node.Labels["pool"] = "a"
				}
			})
			return s
		}(), "no verdict: backend had 1 pod in no domain at 3.3s"},
	} {
		t.Run(name, func(t *testing.T) { check(t, s.run.Run(), zones, verdict.Unknown, 0, s.want) })
	}
}
