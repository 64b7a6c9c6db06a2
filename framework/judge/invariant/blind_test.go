package invariant_test

import (
	"slices"
	"strings"
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

	// backend-2 is evicted at 17.5 s, half a second after backend-1: the budget demands 5 of 6.
	tooMany := func() *ht.Builder { return evict(ht.Healthy(), 2, 17500*ms) }

	// Until 31.5 s the workload has not recovered; the last revert begins at 30 s.
	recovers := func(limit history.Offset) invariant.Invariant { return invariant.RecoversWithin{Limit: limit} }
	never := func() *ht.Builder {
		return killed().DropEvents(func(e history.Event) bool {
			return e.T > healAt && (e.Workload != nil || e.Pod != nil || e.Slice != nil)
		})
	}

	// The spread is bad from 3.3 s on, and settled as it is until 3.8 s, when it becomes good.
	zones := invariant.Spread{TopologyKey: ht.ZoneLabel, Max: 1}
	bad := func() *ht.Builder { return newStepped().to("w1", "w2", "w3").to("w1", "w2", "w3", "w5").Builder }

	checkAll(t, []sample{
		{"an eviction in sight", gap(tooMany(), 20*second, 21*second), invariant.BudgetHonoured{}, verdict.Violated, 17500 * ms},
		{"an eviction in a gap", gap(tooMany(), 16500*ms, 18*second), invariant.BudgetHonoured{}, verdict.Unknown, 0},
		{"an eviction within the skew of a gap", gap(tooMany(), 18500*ms, 21*second), invariant.BudgetHonoured{}, verdict.Unknown, 0},
		{"an eviction just beyond the skew", gap(tooMany(), 18501*ms, 21*second), invariant.BudgetHonoured{}, verdict.Violated, 17500 * ms},
		{"an eviction, and a gap in what no promise reads", tooMany().Gap("events", 16500*ms, 18*second), invariant.BudgetHonoured{}, verdict.Violated, 17500 * ms},

		{"late, and a gap long before", gap(killed(), 30100*ms, 30499*ms), recovers(second), verdict.Violated, 31 * second},
		{"late, and a gap that ends with the recovery", gap(killed(), 30100*ms, 31500*ms), recovers(second), verdict.Unknown, 0},
		{"late, and the list took its time", gap(killed(), 30100*ms, 31*second), recovers(second), verdict.Unknown, 0},
		{"seen late before the gap", gap(killed(), 31200*ms, 31500*ms), recovers(second), verdict.Violated, 31 * second},
		{"in time in spite of a gap", gap(killed(), 30100*ms, 30500*ms), recovers(2 * second), verdict.Unknown, 0},
		{"never, as far as was seen", gap(never(), 34*second, 45*second), recovers(5 * second), verdict.Unknown, 0},
		{"never, and seen so after a gap", gap(never(), 34*second, 36*second), recovers(5 * second), verdict.Violated, 35 * second},

		{"a bad spread in sight", gap(bad(), 30*second, 31*second), zones, verdict.Violated, 3300 * ms},
		{"a bad spread in a gap only", gap(bad(), 3200*ms, 4*second), zones, verdict.Unknown, 0},
	})

	// Bad in a gap, and again when all watches can see.
	again := newStepped().to("w1", "w2", "w3")
	again.at = 6 * second
	p := again.pods["backend-1"]
	p.Restarts = 1
	check(t, again.Pod(again.at, p).Gap("pods", 3200*ms, 4*second).Run(), zones, verdict.Violated, 3300*ms)
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
	for name, s := range map[string]*stepped{
		"some":         bare(nil).to("w1", "w3", "w5").to("w1", "w3", "w5", "bare", "bare"),
		"all":          bare(nil).to("bare", "bare"),
		"unknown node": newStepped().to("w1", "w3", "w5").to("w1", "w3", "w5", "w9"),
		"of the wrong pool": func() *stepped {
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
		}(),
	} {
		t.Run(name, func(t *testing.T) { check(t, s.Run(), zones, verdict.Unknown, 0) })
	}
}

// TestCausesWithoutEvents: a kubelet says in a Kubernetes Event that it evicts a pod. Where the watch of events was blind, the
// evidence of a failure says that such a word may be missing.
func TestCausesWithoutEvents(t *testing.T) {
	const lost = "; what Kubernetes said of it may be lost, as the watch of events was blind"
	for _, from := range []history.Offset{0, ht.EvictedAt - second, ht.EvictedAt + 8*second} {
		b := astray(pods(ht.Healthy(), history.Lifecycle{Readiness: true}), ht.EvictedAt+100*ms, ht.EvictedAt+400*ms, history.Refused)
		if from > 0 {
			b.Gap("events", from, from+2*second)
		}
		v := judge.Check(b.Run(), invariant.NoFailedRequests{})
		if got := strings.Contains(strings.Join(v.Evidence, "\n"), lost); got != (from == ht.EvictedAt-second) || v.Outcome != verdict.Violated {
			t.Errorf("a gap from %s: %s %q", from, v.Outcome, v.Evidence)
		}
	}
}
