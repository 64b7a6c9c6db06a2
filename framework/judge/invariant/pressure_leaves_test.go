package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// When the parts of squeezed happen.
const (
	tensionAt   = 19 * second
	firstEnds   = 22 * second
	secondEnds  = 26 * second
	squeezedAt  = 27 * second
	relaxAt     = 70 * second
	calmAgainAt = 72 * second
)

// squeezed is the record of w5, which was under memory pressure with two pods on it, of six: its kubelet evicts them one after
// the other, and each is replaced within two seconds. The budget allows no disruption at any time.
func squeezed() *ht.Builder {
	b := ht.New().Phase(history.Provision, 0).Phase(history.Deploy, 2*second).Phase(history.Steady, 10*second)
	b.Phase(history.Disturbed, 15*second).Phase(history.Recovered, 85*second).Phase(history.Drained, 90*second)
	for i, stage := range []history.FaultStage{history.Injecting, history.Seen, history.Healing, history.Healed} {
		mark := history.FaultMark{Name: "memory pressure on one worker", Stage: stage}
		if stage == history.Seen {
			mark.Nodes, mark.Pods = []string{"w5"}, []string{"backend-5", "backend-6"}
		}
		b.Fault([]history.Offset{18 * second, squeezedAt, relaxAt, 80 * second}[i], mark)
	}
	b.Workload(3*second, ht.BackendWorkload(6, 6))
	none := ht.BackendBudget(6, 0)
	none.MaxUnavailable = "0"
	b.Budget(3*second, none)
	for i, node := range []string{"w1", "w2", "w3", "w4", "w5", "w5"} {
		b.Node(2*second, ht.ReadyNode(node, ht.ZoneOf(node)))
		b.Pod(3*second, ht.ReadyPod([]string{"backend-1", "backend-2", "backend-3", "backend-4", "backend-5", "backend-6"}[i], node, history.Listed))
	}
	tense := ht.ReadyNode("w5", ht.ZoneOf("w5"))
	tense.Taints = []string{"node.kubernetes.io/memory-pressure:NoSchedule"}
	b.Node(tensionAt, tense).Node(calmAgainAt, ht.ReadyNode("w5", ht.ZoneOf("w5")))
	b.Pod(firstEnds, evictedPod("backend-5")).Pod(secondEnds, evictedPod("backend-6"))
	return replaceBy(replaceBy(b, firstEnds, "backend-7", "w1"), secondEnds, "backend-8", "w3")
}

// evictedPod is what w5's kubelet leaves of a pod.
func evictedPod(name string) history.Pod {
	p := ht.ReadyPod(name, "w5", history.Modified)
	p.Phase, p.Ready, p.Disruption, p.IP = "Failed", false, "TerminationByKubelet", ""
	return p
}

// squeezedBut has something else in its budgets or nodes.
func squeezedBut(edit func(*history.Event)) *ht.Builder { return squeezed().EditEvents(edit) }

func TestPressureLeaves(t *testing.T) {
	leaves := func(n int) invariant.Invariant { return invariant.PressureLeaves{AtLeast: n, DespiteBudget: true} }

	allows := func(e *history.Event) {
		if e.Budget != nil {
			e.Budget.MaxUnavailable, e.Budget.DisruptionsAllowed = "1", 1
		}
	}
	checkAll(t, []sample{
		{"held", squeezed(), leaves(5), verdict.Held, 0},
		{"one too few", squeezed(), leaves(6), verdict.Violated, firstEnds},
		{"a third is not ready", squeezed().Pod(28*second, func() history.Pod {
			p := ht.ReadyPod("backend-1", "w1", history.Modified)
			p.Ready = false
			return p
		}()), invariant.PressureLeaves{AtLeast: 6, Workload: "backend"}, verdict.Violated, firstEnds},
		{"before the first eviction, and after the undo", squeezed().
			Pod(20*second, gone("backend-1")).Pod(20*second, gone("backend-2")).
			Pod(21*second, ht.ReadyPod("backend-1", "w1", history.Modified)).Pod(21*second, ht.ReadyPod("backend-2", "w2", history.Modified)).
			Pod(75*second, gone("backend-3")).Pod(75*second, gone("backend-4")), leaves(5), verdict.Held, 0},
		{"the budget would have let them go", squeezedBut(allows), leaves(5), verdict.Unknown, 0},
		{"the budget would have let them go, and nobody cares", squeezedBut(allows), invariant.PressureLeaves{AtLeast: 5}, verdict.Held, 0},
		{"a budget that shut at that moment", squeezedBut(allows).Budget(firstEnds, ht.BackendBudget(5, 0)).Budget(24*second, ht.BackendBudget(6, 1)).
			Budget(secondEnds, ht.BackendBudget(5, 0)), leaves(5), verdict.Unknown, 0},
		{"somebody else took them", squeezedBut(func(e *history.Event) {
			if e.Pod != nil && e.Pod.Disruption != "" {
				e.Pod.Disruption = "DeletionByTaintManager"
			}
		}), leaves(5), verdict.Unknown, 0},
		{"they were on their way only", squeezedBut(func(e *history.Event) {
			if e.Pod != nil && e.Pod.Disruption != "" {
				e.Pod.Phase = "Running"
			}
		}), leaves(5), verdict.Unknown, 0},
		{"few as far as a blind watch saw", squeezed().Gap("pods", 21*second, 29*second), leaves(6), verdict.Unknown, 0},
		{"the pressure was over too early", squeezedBut(func(e *history.Event) {
			if e.Node != nil && e.T == calmAgainAt {
				e.T = 60 * second
			}
		}), leaves(5), verdict.Unknown, 0},
		{"the kubelet was not ready for a moment when it was restarted", flicker(), leaves(5), verdict.Held, 0},
		{"a fault that was never seen", setStage(squeezed(), history.Seen, -1), leaves(5), verdict.Unknown, 0},
		{"no such workload", squeezed(), invariant.PressureLeaves{Workload: "other"}, verdict.Unknown, 0},
		{"not whole", squeezed().Incomplete("cut off"), leaves(5), verdict.Unknown, 0},
	})
}

// flicker has w5 lost for a moment before it is under pressure, as its kubelet's restart was seen to do.
func flicker() *ht.Builder {
	off := ht.ReadyNode("w5", ht.ZoneOf("w5"))
	off.Ready = "False"
	return squeezed().Node(tensionAt-200*ms, off).Node(tensionAt-100*ms, ht.ReadyNode("w5", ht.ZoneOf("w5")))
}

func gone(name string) history.Pod {
	p := ht.ReadyPod(name, "w"+name[len(name)-1:], history.Modified)
	p.Ready = false
	return p
}

func TestPressureLeavesEvidence(t *testing.T) {
	v := judge.Check(squeezed().Run(), invariant.PressureLeaves{AtLeast: 5})
	lines(t, v)
	numbers(t, v, map[string]float64{"evictedByKubelet": 2, "evictedDespiteBudget": 2, "leastReady": 5})
}

// TestReplacedUnderPressure: the node is not lost, and what it carried is replaced all the same. The limit counts from the taint, at
// 19 s: the fault is seen when the pods are gone, which would leave out the time that evicting them took.
func TestReplacedUnderPressure(t *testing.T) {
	within := func(limit history.Offset) invariant.Invariant { return invariant.ReplacedWithin{Limit: limit} }

	onlyFirst := func() *ht.Builder {
		return squeezed().DropEvents(func(e history.Event) bool { return e.Pod != nil && e.Pod.Name == "backend-8" })
	}
	checkAll(t, []sample{
		{"held", squeezed(), within(20 * second), verdict.Held, 0},
		{"held, although the node was not ready for a moment", flicker(), within(20 * second), verdict.Held, 0},
		{"one second late", squeezed(), within(8 * second), verdict.Violated, 27 * second},
		{"one of two", onlyFirst(), within(20 * second), verdict.Violated, 39 * second},
		{"replaced on the node itself", replaceBy(onlyFirst(), secondEnds, "backend-9", "w5"), within(20 * second), verdict.Violated, 39 * second},
		{"no taint was seen", squeezedBut(func(e *history.Event) {
			if e.Node != nil {
				e.Node.Taints = nil
			}
		}), within(20 * second), verdict.Unknown, 0},
	})
	still := onlyFirst().DropEvents(func(e history.Event) bool { return e.Pod != nil && e.Pod.Name == "backend-6" && e.T > 3*second })
	lines(t, judge.Check(still.Run(), within(20*second)))
}

// TestEvictionsByAKubeletAreDisruptions: they are what there is to survive, and of what has ended nothing is started again.
func TestEvictionsByAKubeletAreDisruptions(t *testing.T) {
	restarted := evictedPod("backend-5")
	restarted.Restarts = 1
	b := squeezed().Pod(73*second, restarted)
	b.Load(history.LaneFresh, ht.Rate, 10*second, 90*second)
	v := check(t, b.Run(), invariant.NoFailedRequests{}, verdict.Held, 0)
	numbers(t, v, map[string]float64{"podTerminations": 2, "podRestarts": 0})
}
