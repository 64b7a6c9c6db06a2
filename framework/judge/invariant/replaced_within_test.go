package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// When the parts of outage happen: its nodes are marked for eviction one after the other.
const (
	outAt      = 20 * second
	firstGoes  = 35 * second
	secondGoes = 45 * second
	backAt     = 70 * second
)

// noneLeft is what the scheduler says of a pod that must wait for the zone.
const noneLeft = "0/8 nodes are available: 2 node(s) had untolerated taint {node.kubernetes.io/unreachable: }, " +
	"4 node(s) didn't match pod topology spread constraints."

// outage is the record of a zone, w5 and w6, that was lost with a pod on each, one of six. The pods are going from
// firstGoes and secondGoes on; nothing has replaced them yet.
func outage() *ht.Builder {
	b := ht.New().Phase(history.Provision, 0).Phase(history.Deploy, 2*second).Phase(history.Steady, 10*second)
	b.Phase(history.Disturbed, 15*second).Phase(history.Recovered, 85*second).Phase(history.Drained, 90*second)
	for i, stage := range []history.FaultStage{history.Injecting, history.Seen, history.Healing, history.Healed} {
		mark := history.FaultMark{Name: "outage of one zone", Stage: stage}
		if stage == history.Seen {
			mark.Nodes, mark.Pods = []string{"w5", "w6"}, []string{"backend-5", "backend-6"}
		}
		b.Fault([]history.Offset{18 * second, outAt, backAt, 80 * second}[i], mark)
	}
	b.Workload(3*second, ht.BackendWorkload(6, 6))
	for _, node := range []string{"w1", "w2", "w3", "w4", "w5", "w6"} {
		b.Node(2*second, ht.ReadyNode(node, ht.ZoneOf(node)))
		pod := ht.ReadyPod("backend-"+node[1:], node, history.Listed)
		b.Pod(3*second, pod)
		if ht.ZoneOf(node) != "c" {
			continue
		}
		lost := ht.ReadyNode(node, "c")
		lost.Ready = "Unknown"
		b.Node(28*second, lost).Node(75*second, ht.ReadyNode(node, "c"))
		pod.Change, pod.Ready = history.Modified, false
		b.Pod(28*second, pod)
		pod.Deleting = true
		b.Pod(map[string]history.Offset{"w5": firstGoes, "w6": secondGoes}[node], pod)
		pod.Change = history.Deleted
		b.Pod(76*second, pod)
	}
	return b
}

// replaceBy makes a new pod, which is bound and ready two seconds later; on no node, it stays as it is made.
func replaceBy(b *ht.Builder, at history.Offset, name, node string) *ht.Builder {
	p := ht.ReadyPod(name, "", history.Added)
	p.Ready, p.Phase, p.IP = false, "Pending", ""
	if node == "" {
		p.Unschedulable = noneLeft
		return b.Pod(at, p)
	}
	return b.Pod(at, p).Pod(at+2*second, ht.ReadyPod(name, node, history.Modified))
}

func replaced() *ht.Builder {
	return replaceBy(replaceBy(outage(), firstGoes, "backend-7", "w1"), secondGoes, "backend-8", "w3")
}

func waiting() *ht.Builder {
	return replaceBy(replaceBy(outage(), firstGoes, "backend-7", ""), secondGoes, "backend-8", "")
}

func TestReplacedWithin(t *testing.T) {
	within := func(limit history.Offset) invariant.Invariant { return invariant.ReplacedWithin{Limit: limit} }

	checkAll(t, []sample{
		{"held", replaced(), within(40 * second), verdict.Held, 0},
		{"held by name, and just in time", replaced(), invariant.ReplacedWithin{Limit: 27 * second, Workload: "backend"}, verdict.Held, 0},
		{"too late", replaced(), within(26 * second), verdict.Violated, 46 * second},
		{"one of two", replaceBy(outage(), firstGoes, "backend-7", "w1"), within(40 * second), verdict.Violated, 60 * second},
		{"waiting for the zone", waiting(), within(40 * second), verdict.Violated, 60 * second},
		{"replaced on the lost nodes when they are back", replaceBy(replaceBy(outage(), 77*second, "backend-7", "w5"), 77*second, "backend-8", "w6"),
			within(40 * second), verdict.Violated, 60 * second},
		{"replaced, and not for good", replaced().Pod(65*second, func() history.Pod {
			p := ht.ReadyPod("backend-1", "w1", history.Modified)
			p.Ready = false
			return p
		}()), within(40 * second), verdict.Violated, 60 * second},
		{"undone before the limit", waiting(), within(51 * second), verdict.Unknown, 0},
		{"nobody saw a node lost", replaced().DropEvents(func(e history.Event) bool { return e.Node != nil && e.Node.Ready == "Unknown" }),
			within(40 * second), verdict.Unknown, 0},
		{"nothing was on the lost nodes", replaced().DropEvents(func(e history.Event) bool { return e.Pod != nil && e.Pod.Node > "w4" }),
			within(40 * second), verdict.Unknown, 0},
		{"late as far as a blind watch saw", replaced().Gap("pods", 40*second, 49*second), within(24 * second), verdict.Unknown, 0},
		{"a fault that was never seen", setStage(replaced(), history.Seen, -1), within(40 * second), verdict.Unknown, 0},
		{"nobody undoes it", setStage(setStage(replaced(), history.Healing, -1), history.Healed, -1).
			DropEvents(func(e history.Event) bool { return e.Node != nil && e.T > backAt }), within(40 * second), verdict.Held, 0},
		{"no such workload", replaced(), invariant.ReplacedWithin{Limit: second, Workload: "other"}, verdict.Unknown, 0},
		{"not whole", replaced().Incomplete("cut off"), within(40 * second), verdict.Unknown, 0},
	})
}

// TestReplacedWithinEvidence names what is stuck, and why, at the moment at which the promise was broken.
func TestReplacedWithinEvidence(t *testing.T) {
	v := judge.Check(waiting().Run(), invariant.ReplacedWithin{Limit: 40 * second})
	lines(t, v)
	numbers(t, v, map[string]float64{"limitSeconds": 40, "lostPods": 2, "stuckPods": 2})

	crashing := replaced().EditEvents(func(e *history.Event) {
		if e.Pod != nil && e.Pod.Name == "backend-7" && e.Pod.Node != "" {
			e.Pod.Ready, e.Pod.Waiting = false, "CrashLoopBackOff"
		}
	})
	v = judge.Check(crashing.Run(), invariant.ReplacedWithin{Limit: 20 * second})
	lines(t, v)

	v = judge.Check(replaced().Run(), invariant.ReplacedWithin{Limit: 40 * second})
	lines(t, v)
	numbers(t, v, map[string]float64{"limitSeconds": 40, "lostPods": 2, "replacedSeconds": 27})
}
