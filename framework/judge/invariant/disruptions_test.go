package invariant_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// componentAway is the record of a component that was away, from 15.5 s to 30 s. Nothing happened to the workload yet.
func componentAway(processes int) *ht.Builder {
	return ht.Healthy().DropEvents(func(e history.Event) bool {
		return e.T > ht.DisturbedAt && (e.Pod != nil || e.Eviction != nil || e.Slice != nil || e.Workload != nil || e.Budget != nil)
	}).EditEvents(func(e *history.Event) {
		if e.Fault != nil {
			e.Fault.Name, e.Fault.Nodes, e.Fault.Pods = "etcd away for 14s", nil, nil
			if e.Fault.Stage == history.Seen {
				e.Fault.Processes = processes
			}
		}
	})
}

// coming adds a pod that comes at a moment, and ending one that ends, which was there before.
func coming(b *ht.Builder, name string, at history.Offset) *ht.Builder {
	return b.Pod(at, ht.ReadyPod(name, "w5", history.Added))
}

func ending(b *ht.Builder, name string, at history.Offset) *ht.Builder {
	pod := ht.ReadyPod(name, "w5", history.Modified)
	pod.Deleting = true
	return b.Pod(at, pod)
}

// TestOnlyTheFaultDisrupts: a pod that the harness asked for and took back, and what an undo does, are no evidence that the fault
// did something.
func TestOnlyTheFaultDisrupts(t *testing.T) {
	const own = 20 * second // after it was seen, and before the undo

	all := invariant.NoFailedRequests{}
	checkAll(t, []sample{
		{"the harness's own replica, taken back by the undo", ending(coming(componentAway(0), "backend-9", own), "backend-9", 30500*ms), all, verdict.Unknown, 0},
		{"the harness's own replica, that ended before", ending(coming(componentAway(0), "backend-9", own), "backend-9", 25*second), all, verdict.Unknown, 0},
		{"a scale-down by the undo", ending(componentAway(0), "backend-5", 30100*ms), all, verdict.Unknown, 0},
		{"a pod of a fault that ends with its undo", ending(taking(componentAway(0), nil, []string{"backend-5"}), "backend-5", 30100*ms), all, verdict.Unknown, 0},
		{"a pod that the fault did not bite", ending(componentAway(0), "backend-5", own), all, verdict.Unknown, 0},
		{"a node that the fault did not bite", componentAway(0).Node(own, notReady("w5")), all, verdict.Unknown, 0},
		{"processes that the witness saw gone", ending(coming(componentAway(3), "backend-9", own), "backend-9", 30500*ms), all, verdict.Held, 0},
		{"a pod that the fault bit", ending(taking(componentAway(0), nil, []string{"backend-5"}), "backend-5", own), all, verdict.Held, 0},
		{"a pod on a node that the fault bit", ending(taking(componentAway(0), []string{"w5"}, nil), "backend-5", own), all, verdict.Held, 0},
		{"a node on which the fault had a step to do", componentAway(0).Node(own, notReady("w5")).
			Step(own-second, history.Step{Node: "w5", Stage: history.StepBegin, What: "new kubelet"}), all, verdict.Held, 0},
		{"pods that a fault adds", coming(coming(componentAway(0), "backend-8", 15600*ms), "backend-9", 15700*ms), all, verdict.Held, 0},
		{"pods that come after the fault was seen", coming(componentAway(0), "backend-9", own), all, verdict.Unknown, 0},
		{"a pod that takes the place of one that the fault does not name",
			ending(coming(componentAway(0), "backend-9", 15700*ms), "backend-5", 15600*ms), all, verdict.Unknown, 0},
	})
}

// notReady is a worker that is no longer ready.
func notReady(name string) history.Node {
	node := ht.ReadyNode(name, ht.ZoneOf(name))
	node.Ready = "Unknown"
	return node
}

// crashed has containers of the backend restarted: reported at 20 s, of pods that are ready again two seconds later.
func crashed(b *ht.Builder, pods ...int) *ht.Builder {
	b.DropEvents(func(e history.Event) bool {
		return e.T > ht.SteadyAt && (e.Pod != nil || e.Node != nil || e.Workload != nil || e.Slice != nil || e.Budget != nil)
	})
	for _, i := range pods {
		p := ht.ReadyPod(fmt.Sprintf("backend-%d", i), fmt.Sprintf("w%d", i), history.Modified)
		p.Restarts, p.Ready = 1, false
		b.Pod(20*second, p)
		p.Ready = true
		b.Pod(22*second, p)
	}
	return b
}

// TestARecordingShowsWhatHappenedToAnyPodThatServes: restarts of containers, and ends of pods that no recorded workload owns, disturb a recording
// and are what its promises are judged by.
func TestARecordingShowsWhatHappenedToAnyPodThatServes(t *testing.T) {
	killed := func(b *ht.Builder) *ht.Builder { // the kubelet says when it kills a container that its liveness probe has given up
		return b.Event(history.Event{T: 15 * second, KubeNote: &history.KubeNote{Namespace: ht.Namespace, Kind: "Pod", Name: "backend-3", Reason: "Killing"}})
	}
	daemons := func(b *ht.Builder) *ht.Builder {
		return noWorkload(b).EditEvents(func(e *history.Event) {
			if e.Pod != nil {
				e.Pod.Owner = history.OwnerOf("DaemonSet", "edge")
			}
		})
	}
	job := noWorkload(recordedDrain()).DropEvents(func(e history.Event) bool { return e.Slice != nil })
	for name, test := range map[string]struct {
		b             *ht.Builder
		kind          string
		restarts, end float64
		never         string
	}{
		"one container restarts":               {crashed(recordedDrain(), 3), "FailuresEndWithin", 1, 0, "nothing was disrupted"},
		"one that was killed long before":      {killed(crashed(recordedDrain(), 3)), "FailuresEndWithin", 1, 0, "nothing was disrupted"},
		"two at the same moment":               {crashed(recordedDrain(), 2, 3), "FailuresEndWithin", 2, 0, "nothing was disrupted"},
		"a container that no workload owns":    {noWorkload(crashed(recordedDrain(), 3)), "FailuresEndWithin", 1, 0, "nothing was disrupted"},
		"pods of a DaemonSet are drained":      {daemons(recordedDrain()), "NoFailedRequests", 0, 1, "nothing was disrupted"},
		"pods of a custom kind, and no owner":  {noWorkload(recordedDrain()), "NoFailedRequests", 0, 1, "nothing was disrupted"},
		"pods that no Service offers are none": {job, "NoFailedRequests", 0, 0, "no request failed"},
	} {
		v := kindsOf(test.b)[test.kind]
		if strings.Contains(v.Seen, test.never) || v.Numbers["podRestarts"] != test.restarts || v.Numbers["podTerminations"] != test.end {
			t.Errorf("%s: %s: %s\n%v", name, v.Outcome, v.Seen, v.Numbers)
		}
		if held := test.restarts+test.end > 0; held != (v.Outcome == verdict.Held) {
			t.Errorf("%s: %s: %s", name, v.Outcome, v.Seen)
		}
	}
}

// TestAllContainersRestartAtOnce: an outage of all pods is seen for what it is, and nothing that it breaks is held.
func TestAllContainersRestartAtOnce(t *testing.T) {
	outage := func(to history.Offset) map[string]verdict.Verdict {
		b := crashed(recordedDrain(), 1, 2, 3, 4, 5, 6).EditRequests(func(r *history.Request) {
			if r.Pod == ht.Replacement { // nothing was drained
				r.Pod, r.Node = ht.Victim, ht.DrainedNode
			}
		})
		for _, lane := range []history.Lane{history.LaneFresh, history.LaneReused} {
			b.Fail(lane, 19*second, to, history.Refused)
		}
		return kindsOf(b)
	}
	for to, want := range map[history.Offset]verdict.Outcome{21 * second: verdict.Unknown, 35 * second: verdict.Violated} {
		found := outage(to)
		if v := found["FailuresEndWithin"]; v.Outcome != want || v.Numbers["podRestarts"] != 6 || strings.Contains(v.Seen, "nothing was disrupted") {
			t.Errorf("until %s: %s: %s\n%v", to, v.Outcome, v.Seen, v.Numbers)
		}
		if v := found["NoFailedRequests"]; v.Outcome == verdict.Held {
			t.Errorf("until %s: %s", to, v.Seen)
		}
	}
}
