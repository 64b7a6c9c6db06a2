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
	const none = "no pod of backend was left on w1: 1 pod evicted, 0 of them unready while their budget allowed no disruption"
	const missing = "no verdict: no unready pod was evicted while a budget allowed no disruption"
	checkAll(t, []sample{
		{"held", ht.Healthy(), all, verdict.Held, 0, none},
		{"held because of a policy", allowing(crashing(ht.Healthy()), 0), unready, verdict.Held, 0,
			"no pod of backend was left on w1: 1 pod evicted, 1 of them unready while their budget allowed no disruption"},
		{"the pod was ready", allowing(ht.Healthy(), 0), unready, verdict.Unknown, 0, missing},
		{"the budget allowed it until just before", crashing(ht.Healthy()), unready, verdict.Unknown, 0, missing},
		{"there is no budget", noBudget(crashing(ht.Healthy())), unready, verdict.Unknown, 0, missing},
		{"violated", crashing(blocked()), unready, verdict.Violated, ht.HealingAt,
			"backend-1 was still on w1 at 30s, when the drain was reverted (CrashLoopBackOff); its eviction was refused 12 times: " + needs6},
		{"a ready pod is left", blocked(), all, verdict.Violated, ht.HealingAt,
			"backend-1 was still on w1 at 30s, when the drain was reverted (ready); its eviction was refused 12 times: " + needs6},
		{"a pod is going for ever", ht.Healthy().DropEvents(func(e history.Event) bool {
			return e.Pod != nil && e.Pod.Name == ht.Victim && e.Pod.Change == history.Deleted
		}), all, verdict.Violated, ht.HealingAt, "backend-1 was still on w1 at 30s, when the drain was reverted (going)"},
		{"what was left was not seen", blocked().Gap("pods", 29500*ms, 30500*ms), all, verdict.Unknown, 0,
			"no verdict: the watch of pods had a gap from 29.5s to 30.5s: the watch broke off (and 2 more reasons)"},
		{"nothing was asked for", ht.Healthy().DropEvents(func(e history.Event) bool { return e.Eviction != nil }), all, verdict.Unknown, 0,
			"no verdict: no eviction of a pod of backend on w1 was accepted"},
		{"only another's pod was evicted", ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Eviction != nil {
				e.Eviction.Namespace = "kube-system"
			}
		}), all, verdict.Unknown, 0, "no verdict: no eviction of a pod of backend on w1 was accepted"},
		{"no node was closed", newStepped().to("w1", "w2", "w3").Builder, all, verdict.Unknown, 0,
			"no verdict: no fault that names a node was reverted"},
		{"no such workload", ht.Healthy(), invariant.DrainCompletes{Workload: "other"}, verdict.Unknown, 0,
			"no verdict: the record has no Deployment other"},
	})
	v := judge.Check(allowing(crashing(ht.Healthy()), 0).Run(), unready)
	lines(t, v, "backend-1 was unready when its eviction was accepted at 17s, and budget backend allowed no disruption")
	numbers(t, v, map[string]float64{"evicted": 1, "evictedUnready": 1, "refused": 0, "left": 0})
}
