package invariant_test

import (
	"testing"

	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// stateful makes it a StatefulSet.
func (s *stepped) stateful() *stepped {
	s.set = true
	return s
}

func TestSpreadTogether(t *testing.T) {
	promise := invariant.SpreadTogether{TopologyKey: ht.ZoneLabel, Max: 1}
	on := func(nodes ...string) *stepped { return newStepped().to(nodes...) }
	undone := on("w5")
	undone.at = 45 * second // the undo begins at 41 s
	undone.to("w5", "w1", "w2", "w3", "w4")

	checkAll(t, []sample{
		{"held", inTrials(on("w1", "w3"), on("w5", "w6")), promise, verdict.Held, 0},
		{"at every step", inTrials(on("w1").to("w1", "w3"), on("w4").to("w4", "w5")), promise, verdict.Held, 0},
		{"each even, and not together", inTrials(on("w1", "w3"), on("w2", "w4")), promise, verdict.Violated, 3300 * ms},
		{"what the undo leaves", inTrials(on("w1", "w3"), undone), promise, verdict.Held, 0},
		{"of both kinds", inTrials(on("w1", "w3"), on("w5"), on("w6").stateful()), promise, verdict.Held, 0},
		{"a StatefulSet where the others are", inTrials(on("w1"), on("w3"), on("w2", "w4").stateful()), promise, verdict.Violated, 3300 * ms},
		{"a StatefulSet that is not settled", inTrials(on("w1", "w3"), on("w5").asked(5).stateful()), promise, verdict.Unknown, 0},
		{"StatefulSets only", inTrials(on("w1", "w3").stateful(), on("w5", "w6").stateful()), promise, verdict.Held, 0},
		{"one is not settled", inTrials(on("w1", "w3"), on("w5").asked(5)), promise, verdict.Unknown, 0},
		{"one only", on("w1", "w3", "w5").Builder, promise, verdict.Unknown, 0},
		{"none", newStepped().Builder, promise, verdict.Unknown, 0},
		{"bad while a watch was blind", inTrials(on("w1", "w3"), on("w2", "w4")).Gap("pods", 3*second, 60*second), promise, verdict.Unknown, 0},
		{"a pod in no zone", inTrials(on("w1", "w3"), on("cp", "w9")), promise, verdict.Unknown, 0},
	})
	v := judge.Check(inTrials(on("w1", "w3"), on("w2", "w4")).Run(), promise)
	lines(t, v)
	numbers(t, v, map[string]float64{"settledStates": 1, "allowedSkew": 1, "largestSkew": 2})
}
