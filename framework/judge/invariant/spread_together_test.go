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
	const bad = "the pods of 2 Deployments were at 3.3s combined a=2 b=2 c=0 (4 replicas): skew 2, and 1 is allowed"
	checkAll(t, []sample{
		{"held", inTrials(on("w1", "w3"), on("w5", "w6")), promise, verdict.Held, 0,
			"the pods of 2 Deployments were together at most 1 apart over 3 domains of topology.kubernetes.io/zone, in 1 settled state"},
		{"at every step", inTrials(on("w1").to("w1", "w3"), on("w4").to("w4", "w5")), promise, verdict.Held, 0,
			"the pods of 2 Deployments were together at most 1 apart over 3 domains of topology.kubernetes.io/zone, in 2 settled states"},
		{"each even, and not together", inTrials(on("w1", "w3"), on("w2", "w4")), promise, verdict.Violated, 3300 * ms, bad},
		{"what the undo leaves", inTrials(on("w1", "w3"), undone), promise, verdict.Held, 0,
			"the pods of 2 Deployments were together at most 0 apart over 3 domains of topology.kubernetes.io/zone, in 1 settled state"},
		{"of both kinds", inTrials(on("w1", "w3"), on("w5"), on("w6").stateful()), promise, verdict.Held, 0,
			"the pods of 2 Deployments and 1 StatefulSet were together at most 1 apart over 3 domains of topology.kubernetes.io/zone, in 1 settled state"},
		{"a StatefulSet where the others are", inTrials(on("w1"), on("w3"), on("w2", "w4").stateful()), promise, verdict.Violated, 3300 * ms,
			"the pods of 2 Deployments and 1 StatefulSet were at 3.3s combined a=2 b=2 c=0 (4 replicas): skew 2, and 1 is allowed"},
		{"a StatefulSet that is not settled", inTrials(on("w1", "w3"), on("w5").asked(5).stateful()), promise, verdict.Unknown, 0,
			"no verdict: not all of 1 Deployment and 1 StatefulSet had settled when the first revert began at 41s"},
		{"StatefulSets only", inTrials(on("w1", "w3").stateful(), on("w5", "w6").stateful()), promise, verdict.Held, 0,
			"the pods of 2 StatefulSets were together at most 1 apart over 3 domains of topology.kubernetes.io/zone, in 1 settled state"},
		{"one is not settled", inTrials(on("w1", "w3"), on("w5").asked(5)), promise, verdict.Unknown, 0,
			"no verdict: not all of 2 Deployments had settled when the first revert began at 41s"},
		{"one only", on("w1", "w3", "w5").Builder, promise, verdict.Unknown, 0,
			"no verdict: the record has 1 Deployment, and a combined spread needs at least 2"},
		{"none", newStepped().Builder, promise, verdict.Unknown, 0,
			"no verdict: the record has 0 Deployments, and a combined spread needs at least 2"},
		{"bad while a watch was blind", inTrials(on("w1", "w3"), on("w2", "w4")).Gap("pods", 3*second, 60*second), promise, verdict.Unknown, 0,
			"no verdict: the watch of pods had a gap from 3s to 1m0s: the watch broke off"},
		{"a pod in no zone", inTrials(on("w1", "w3"), on("cp", "w9")), promise, verdict.Unknown, 0,
			"no verdict: at 3.3s there were 4 domains, and 1 pod in none"},
	})
	v := judge.Check(inTrials(on("w1", "w3"), on("w2", "w4")).Run(), promise)
	lines(t, v, "3.3s: a=2 b=2 c=0 (4 replicas), skew 2", "skew 1 -> 2 at 3.2s: backend-2backend-1 was bound to w2 (a)")
	numbers(t, v, map[string]float64{"settledStates": 1, "allowedSkew": 1, "largestSkew": 2})
}
