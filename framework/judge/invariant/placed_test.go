package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// noRoom is what the scheduler says of a pod.
const noRoom = "0/7 nodes are available: 3 node(s) didn't match pod anti-affinity rules."

// scaledTo is a workload that was asked for so many replicas more than found a node; the scheduler has tried them or not.
func scaledTo(pending int, tried bool) *stepped {
	s := even()
	w := workload(3+pending, 3, 3+pending, true)
	s.Workload(s.at, w)
	for range pending {
		s.made++
		p := ht.ReadyPod("backend-"+string(rune('0'+s.made)), "", history.Added)
		p.Ready, p.Phase, p.IP = false, "Pending", ""
		if tried {
			p.Unschedulable = noRoom
		}
		s.Pod(s.at+100*ms, p)
	}
	return s
}

// stuck is an update whose one new pod, beyond those that were asked for, finds no node; the scheduler has tried it or not.
func stuck(tried bool) *stepped {
	s := scaledTo(1, tried)
	w := workload(3, 3, 4, true)
	w.Updated = 1
	s.Workload(s.at+200*ms, w)
	return s
}

// goesWith has a pod that is going on a node.
func goesWith(s *stepped, node string) *ht.Builder {
	p := ht.ReadyPod("backend-9", node, history.Added)
	p.Deleting = true
	return s.Pod(s.at+100*ms, p)
}

func TestPlaced(t *testing.T) {
	all, two := invariant.Placed{}, invariant.Placed{Workload: "backend", Pending: 2}
	surge := invariant.Placed{Workload: "backend", Pending: 1, Surge: 1}
	short := even()
	short.Workload(short.at, workload(5, 3, 3, true))
	checkAll(t, []sample{
		{"all have a node", scaledTo(0, true).Builder, all, verdict.Held, 0},
		{"two wait, as promised", scaledTo(2, true).Builder, two, verdict.Held, 0},
		{"what is going with a lost node does not count", goesWith(scaledTo(2, true).node("w5", "Unknown", false), "w5"), two, verdict.Held, 0},
		{"what is going elsewhere does", goesWith(scaledTo(2, true), "w5"), two, verdict.Unknown, 0},
		{"two wait, and none should", scaledTo(2, true).Builder, all, verdict.Violated, 41 * second},
		{"none wait, and two should", scaledTo(0, true).Builder, two, verdict.Violated, 41 * second},
		{"the scheduler has not tried", scaledTo(2, false).Builder, two, verdict.Unknown, 0},
		{"pods that were never made", short.Builder, two, verdict.Unknown, 0},
		{"an update is stuck", stuck(true).Builder, surge, verdict.Held, 0},
		{"an update that is stuck is not what was asked for", stuck(true).Builder, invariant.Placed{Pending: 1}, verdict.Unknown, 0},
		{"an update goes on", goesWith(even(), "w5"), surge, verdict.Violated, 41 * second},
		{"an update is at its end", even().Builder, surge, verdict.Violated, 41 * second},
		{"more than an update may make", goesWith(stuck(true), "w5"), surge, verdict.Unknown, 0},
		{"the scheduler has not tried what an update made", stuck(false).Builder, surge, verdict.Unknown, 0},
		{"a blind watch", scaledTo(2, true).Gap("pods", 40*second, 42*second), two, verdict.Unknown, 0},
		{"never undone", setStage(scaledTo(2, true).Builder, history.Healing, -1), two, verdict.Unknown, 0},
		{"no such workload", newStepped().Builder, two, verdict.Unknown, 0},
	})
	v := judge.Check(scaledTo(2, true).Run(), two)
	lines(t, v)
	numbers(t, v, map[string]float64{"pods": 5, "pendingPods": 2, "promisedPendingPods": 2})
}

// TestSpreadOfWhatWaits: pods that find no node are no reason not to have settled, if the promise says so.
func TestSpreadOfWhatWaits(t *testing.T) {
	settled := invariant.Spread{TopologyKey: ht.ZoneLabel, Max: 1}
	waiting := invariant.Spread{TopologyKey: ht.ZoneLabel, Max: 1, Waiting: true}
	crowded := scaledTo(3, true)
	for _, name := range []string{"backend-4", "backend-5"} {
		crowded.Pod(crowded.at+200*ms, ht.ReadyPod(name, "w1", history.Modified))
	}
	starting := scaledTo(2, true)
	p := ht.ReadyPod("backend-5", "w1", history.Modified)
	p.Ready = false
	starting.Pod(starting.at+100*ms, p)
	checkAll(t, []sample{
		{"two wait", scaledTo(2, true).Builder, waiting, verdict.Held, 0},
		{"none waits", even().Builder, waiting, verdict.Held, 0},
		{"two wait, and none is meant to", scaledTo(2, true).Builder, settled, verdict.Unknown, 0},
		{"the scheduler has not tried", scaledTo(2, false).Builder, waiting, verdict.Unknown, 0},
		{"one is not ready yet", starting.Builder, waiting, verdict.Unknown, 0},
		{"one waits, and the others are crowded", crowded.Builder, waiting, verdict.Violated, 3700 * ms},
	})
}
