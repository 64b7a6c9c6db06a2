package invariant_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// inTrials is one record of several workloads, each the one of a record of its own, renamed to backend-1 and so on.
func inTrials(each ...*stepped) *ht.Builder {
	all := newStepped().Builder
	for i, trial := range each {
		name := fmt.Sprintf("backend-%d", i+1)
		labels := func(old map[string]string) map[string]string {
			return map[string]string{"app.kubernetes.io/name": name, ht.RevisionLabel: old[ht.RevisionLabel]}
		}
		for _, e := range trial.Run().Events {
			switch {
			case e.Workload != nil:
				e.Workload.StatefulSet = trial.set
				e.Workload.Name, e.Workload.Selector = name, map[string]string{"app.kubernetes.io/name": name}
				all.Workload(e.T, *e.Workload)
			case e.Pod != nil:
				e.Pod.Name, e.Pod.UID, e.Pod.Labels = name+e.Pod.Name, name+e.Pod.UID, labels(e.Pod.Labels)
				all.Pod(e.T, *e.Pod)
			}
		}
	}
	return all
}

func even() *stepped   { return newStepped().to("w1", "w3", "w5") }
func uneven() *stepped { return rolledTo("w1", "w2", "w3") }

// rolledTo is a rollout from an even spread.
func rolledTo(nodes ...string) *stepped {
	s := even()
	s.revision = "rev2"
	return s.to(nodes...)
}

func TestSpreadTrials(t *testing.T) {
	promise := invariant.SpreadTrials{TopologyKey: ht.ZoneLabel, Max: 1}
	checkAll(t, []sample{
		{
			"held", inTrials(even(), rolledTo("w2", "w4", "w6")), promise, verdict.Held, 0,
			"the skew over topology.kubernetes.io/zone was above 1 in 0 of 2 trials (0 %, 95 % interval 0 % to 84.2 %), in 3 settled states; the largest of each trial: 0 in 2",
		},
		{
			"broken in one of four", inTrials(even(), rolledTo("w2", "w4", "w6"), uneven(), even()), promise, verdict.Violated, 3800 * ms,
			"the skew over topology.kubernetes.io/zone was above 1 in 1 of 4 trials (25 %, 95 % interval 0.631 % to 80.6 %); the largest of each trial: 0 in 3, 2 in 1",
		},
		{
			"broken in all, and the worst counts", inTrials(uneven(), rolledTo("w1", "w2", "w1")), promise, verdict.Violated, 3800 * ms,
			"the skew over topology.kubernetes.io/zone was above 1 in 2 of 2 trials (100 %, 95 % interval 15.8 % to 100 %); the largest of each trial: 2 in 1, 3 in 1",
		},
		{
			"broken in one, and another never settled", inTrials(uneven(), newStepped().asked(5)), promise, verdict.Violated, 3800 * ms,
			"the skew over topology.kubernetes.io/zone was above 1 in 1 of 2 trials (50 %, 95 % interval 1.26 % to 98.7 %); the largest of each trial: 2 in 1",
		},
		{
			"broken in one of four, as may be", inTrials(even(), rolledTo("w2", "w4", "w6"), uneven(), even()),
			invariant.SpreadTrials{TopologyKey: ht.ZoneLabel, Max: 1, Often: 0.25}, verdict.Held, 0,
			"the skew over topology.kubernetes.io/zone was above 1 in 1 of 4 trials (25 %, 95 % interval 0.631 % to 80.6 %), in 6 settled states; the largest of each trial: 0 in 3, 2 in 1",
		},
		{
			"broken more often than may be", inTrials(uneven(), rolledTo("w1", "w2", "w1")),
			invariant.SpreadTrials{TopologyKey: ht.ZoneLabel, Max: 1, Often: 0.5}, verdict.Violated, 3800 * ms,
			"the skew over topology.kubernetes.io/zone was above 1 in 2 of 2 trials (100 %, 95 % interval 15.8 % to 100 %); the largest of each trial: 2 in 1, 3 in 1",
		},
		{
			"all may be broken", inTrials(even(), even()), invariant.SpreadTrials{TopologyKey: ht.ZoneLabel, Max: 1, Often: 1}, verdict.Unknown, 0,
			"no verdict: 100 % of the trials may break the promise, so it promises nothing",
		},
		{
			"one never settled", inTrials(even(), newStepped().asked(5)), promise, verdict.Unknown, 0,
			"no verdict: backend-2 was never seen settled",
		},
		{
			"one trial", inTrials(even()), promise, verdict.Unknown, 0,
			"no verdict: the record has 1 Deployment, and at least 2 trials are needed to judge chance",
		},
		{
			"none", inTrials(), promise, verdict.Unknown, 0,
			"no verdict: the record has 0 Deployments, and at least 2 trials are needed to judge chance",
		},
		{
			"the fault was not seen", setStage(inTrials(even(), even()), history.Seen, -1), promise, verdict.Unknown, 0,
			"no verdict: scale was never seen in effect",
		},
	})
}

func TestSpreadTrialsEvidence(t *testing.T) {
	v := judge.Check(inTrials(even(), uneven()).Run(), invariant.SpreadTrials{TopologyKey: ht.ZoneLabel, Max: 1})
	lines(t, v, "backend-2 at 3.8s: a=2 b=1 c=0 (3 replicas), skew 2, decayed by a rollout")
	numbers(t, v, map[string]float64{"trials": 2, "brokenTrials": 1, "largestSkew": 2, "allowedSkew": 1})
}

// oneReplaced is settled with one pod in each zone; then a pod is replaced, the new one first or the old one first.
func oneReplaced(newFirst bool) *stepped {
	s := even()
	old := s.pods["backend-3"]
	gone, fresh := old, ht.ReadyPod("backend-4", "w6", history.Added)
	gone.Change = history.Deleted
	if newFirst {
		s.Pod(s.at, fresh).Pod(s.at+200*ms, gone)
	} else {
		s.Pod(s.at, gone).Pod(s.at+200*ms, fresh)
	}
	return s
}

func TestPerDomain(t *testing.T) {
	promise := invariant.PerDomain{TopologyKey: ht.ZoneLabel, AtLeast: 1}
	mostly := invariant.PerDomain{TopologyKey: ht.ZoneLabel, AtLeast: 1, Often: 0.5}
	going := even()
	old := going.pods["backend-3"]
	old.Change, old.Deleting = history.Modified, true
	going.Pod(going.at, old)
	gone, fresh := old, ht.ReadyPod("backend-4", "w6", history.Added)
	gone.Change = history.Deleted
	going.Pod(going.at+200*ms, fresh).Pod(going.at+400*ms, gone)
	checkAll(t, []sample{
		{
			"held", inTrials(oneReplaced(true)), promise, verdict.Held, 0,
			"no domain of topology.kubernetes.io/zone had fewer than 1 ready pod; fewer than promised in 0 of 1 trial (0 %, 95 % interval 0 % to 97.5 %)",
		},
		{
			"the old one goes first", inTrials(oneReplaced(true), oneReplaced(false)), promise, verdict.Violated, 3500 * ms,
			"some domain of topology.kubernetes.io/zone had fewer than 1 ready pod in 1 of 2 trials (50 %, 95 % interval 1.26 % to 98.7 %); the fewest were 0",
		},
		{
			"a pod that is going does not count", inTrials(going), promise, verdict.Violated, 3500 * ms,
			"some domain of topology.kubernetes.io/zone had fewer than 1 ready pod in 1 of 1 trial (100 %, 95 % interval 2.5 % to 100 %); the fewest were 0",
		},
		{
			"mostly", inTrials(oneReplaced(true), oneReplaced(false)), mostly, verdict.Held, 0,
			"no domain of topology.kubernetes.io/zone had fewer than 0 ready pods; fewer than promised in 1 of 2 trials (50 %, 95 % interval 1.26 % to 98.7 %)",
		},
		{
			"not even mostly", inTrials(oneReplaced(false), oneReplaced(false)), mostly, verdict.Violated, 3500 * ms,
			"some domain of topology.kubernetes.io/zone had fewer than 1 ready pod in 2 of 2 trials (100 %, 95 % interval 15.8 % to 100 %); the fewest were 0",
		},
		{
			"a promise of nothing", inTrials(oneReplaced(true)), invariant.PerDomain{TopologyKey: ht.ZoneLabel, AtLeast: 1, Often: 1}, verdict.Unknown, 0,
			"no verdict: 100 % of the trials may break the promise, so it promises nothing",
		},
		{
			"nothing was replaced", inTrials(even()), promise, verdict.Unknown, 0, "no verdict: no pod of backend-1 was replaced",
		},
		{
			"never settled", inTrials(newStepped().asked(5)), promise, verdict.Unknown, 0, "no verdict: backend-1 was never seen settled",
		},
		{
			"no workload", inTrials(), promise, verdict.Unknown, 0, "no verdict: the record has no Deployment",
		},
	})
	v := judge.Check(inTrials(oneReplaced(false)).Run(), promise)
	lines(t, v, "backend-1 at 3.5s: c had 0, and 1 are promised")
	numbers(t, v, map[string]float64{"trials": 1, "brokenTrials": 1, "promisedPods": 1, "fewestPods": 0})
	if math.IsNaN(v.Numbers["brokenShareLow95"]) {
		t.Error("no interval")
	}
}
