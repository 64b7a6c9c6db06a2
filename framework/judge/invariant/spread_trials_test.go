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
		{"held", inTrials(even(), rolledTo("w2", "w4", "w6")), promise, verdict.Held, 0},
		{"broken in one of four", inTrials(even(), rolledTo("w2", "w4", "w6"), uneven(), even()), promise, verdict.Violated, 3800 * ms},
		{"broken in all, and the worst counts", inTrials(uneven(), rolledTo("w1", "w2", "w1")), promise, verdict.Violated, 3800 * ms},
		{"broken in one, and another never settled", inTrials(uneven(), newStepped().asked(5)), promise, verdict.Violated, 3800 * ms},
		{
			"broken in one of four, as may be", inTrials(even(), rolledTo("w2", "w4", "w6"), uneven(), even()),
			invariant.SpreadTrials{TopologyKey: ht.ZoneLabel, Max: 1, Often: 0.25}, verdict.Held, 0,
		},
		{
			"broken more often than may be", inTrials(uneven(), rolledTo("w1", "w2", "w1")),
			invariant.SpreadTrials{TopologyKey: ht.ZoneLabel, Max: 1, Often: 0.5}, verdict.Violated, 3800 * ms,
		},
		{"all may be broken", inTrials(even(), even()), invariant.SpreadTrials{TopologyKey: ht.ZoneLabel, Max: 1, Often: 1}, verdict.Unknown, 0},
		{"one never settled", inTrials(even(), newStepped().asked(5)), promise, verdict.Unknown, 0},
		{"one trial", inTrials(even()), promise, verdict.Unknown, 0},
		{"none", inTrials(), promise, verdict.Unknown, 0},
		{"the fault was not seen", setStage(inTrials(even(), even()), history.Seen, -1), promise, verdict.Unknown, 0},
	})
}

func TestSpreadTrialsEvidence(t *testing.T) {
	v := judge.Check(inTrials(even(), uneven()).Run(), invariant.SpreadTrials{TopologyKey: ht.ZoneLabel, Max: 1})
	lines(t, v)
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
		{"held", inTrials(oneReplaced(true)), promise, verdict.Held, 0},
		{"the old one goes first", inTrials(oneReplaced(true), oneReplaced(false)), promise, verdict.Violated, 3500 * ms},
		{"a pod that is going does not count", inTrials(going), promise, verdict.Violated, 3500 * ms},
		{"mostly", inTrials(oneReplaced(true), oneReplaced(false)), mostly, verdict.Held, 0},
		{"not even mostly", inTrials(oneReplaced(false), oneReplaced(false)), mostly, verdict.Violated, 3500 * ms},
		{"a promise of nothing", inTrials(oneReplaced(true)), invariant.PerDomain{TopologyKey: ht.ZoneLabel, AtLeast: 1, Often: 1}, verdict.Unknown, 0},
		{"nothing was replaced", inTrials(even()), promise, verdict.Unknown, 0},
		{"never settled", inTrials(newStepped().asked(5)), promise, verdict.Unknown, 0},
		{"no workload", inTrials(), promise, verdict.Unknown, 0},
	})
	v := judge.Check(inTrials(oneReplaced(false)).Run(), promise)
	lines(t, v)
	numbers(t, v, map[string]float64{"trials": 1, "brokenTrials": 1, "promisedPods": 1, "fewestPods": 0})
	if math.IsNaN(v.Numbers["brokenShareLow95"]) {
		t.Error("no interval")
	}
}
