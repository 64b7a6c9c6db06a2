package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// crashing is backend-1 from 12 s on, the pod of the node that is drained.
func crashing(b *ht.Builder) *ht.Builder {
	p := ht.ReadyPod(ht.Victim, ht.DrainedNode, history.Modified)
	p.Ready, p.Waiting, p.Restarts = false, "CrashLoopBackOff", 3
	return b.Pod(12*second, p).EditEvents(func(e *history.Event) {
		if e.Pod != nil && e.Pod.Name == ht.Victim && e.T >= 12*second {
			e.Pod.Ready = false
		}
	})
}

func TestDrainCompletes(t *testing.T) {
	all, unready := invariant.DrainCompletes{}, invariant.DrainCompletes{Workload: "backend", Unready: true}

	checkAll(t, []sample{
		{"held", ht.Healthy(), all, verdict.Held, 0},
		{"held because of a policy", allowing(crashing(ht.Healthy()), 0), unready, verdict.Held, 0},
		{"the pod was ready", allowing(ht.Healthy(), 0), unready, verdict.Unknown, 0},
		{"the budget allowed it until just before", crashing(ht.Healthy()), unready, verdict.Unknown, 0},
		{"there is no budget", noBudget(crashing(ht.Healthy())), unready, verdict.Unknown, 0},
		{"violated", crashing(blocked()), unready, verdict.Violated, ht.HealingAt},
		{"a ready pod is left", blocked(), all, verdict.Violated, ht.HealingAt},
		{"a pod is going for ever", ht.Healthy().DropEvents(func(e history.Event) bool {
			return e.Pod != nil && e.Pod.Name == ht.Victim && e.Pod.Change == history.Deleted
		}), all, verdict.Violated, ht.HealingAt},
		{"what was left was not seen", blocked().Gap("pods", 29500*ms, 30500*ms), all, verdict.Unknown, 0},
		{"nothing was asked for", ht.Healthy().DropEvents(func(e history.Event) bool { return e.Eviction != nil }), all, verdict.Unknown, 0},
		{"only another's pod was evicted", ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Eviction != nil {
				e.Eviction.Namespace = "kube-system"
			}
		}), all, verdict.Unknown, 0},
		{"no node was closed", newStepped().to("w1", "w2", "w3").Builder, all, verdict.Unknown, 0},
		{"no such workload", ht.Healthy(), invariant.DrainCompletes{Workload: "other"}, verdict.Unknown, 0},
	})
	v := judge.Check(allowing(crashing(ht.Healthy()), 0).Run(), unready)
	lines(t, v)
	numbers(t, v, map[string]float64{"evicted": 1, "evictedUnready": 1, "refused": 0, "left": 0})
}
