package invariant_test

import (
	"fmt"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// resizing is a record of six pods with 5m of processor time. The fault begins at 11 s, is seen at 40 s, and its undo lasts
// from 41 s to 49 s. What the kubelets say in between is given.
func resizing(say func(pod func(at history.Offset, i int, cpu string, restarts int))) *ht.Builder {
	s := newStepped().to("w1", "w2", "w3", "w4", "w5", "w6")
	b := s.EditEvents(func(e *history.Event) {
		if e.Pod != nil {
			e.Pod.CPU = "5m"
		}
	})
	nodes := map[int]history.Pod{}
	for name, p := range s.pods {
		nodes[int(name[len(name)-1]-'0')] = p
	}
	say(func(at history.Offset, i int, cpu string, restarts int) {
		p := nodes[i]
		p.Change, p.CPU, p.Restarts = history.Modified, cpu, restarts
		b.Pod(at, p)
	})
	return b
}

func TestResizedInPlace(t *testing.T) {
	all := func(pod func(history.Offset, int, string, int)) {
		for i := range 6 {
			pod(20*second+history.Offset(i)*ms, i+1, "20m", 0)
			pod(42*second, i+1, "5m", 0)
		}
	}
	promise := invariant.ResizedInPlace{}
	checkAll(t, []sample{
		{"held", resizing(all), promise, verdict.Held, 0},
		{"a container was started again", resizing(func(pod func(history.Offset, int, string, int)) {
			all(pod)
			pod(21*second, 2, "20m", 1)
		}), promise, verdict.Violated, 21 * second},
		{"and during the undo", resizing(func(pod func(history.Offset, int, string, int)) {
			all(pod)
			pod(43*second, 3, "5m", 1)
		}), promise, verdict.Violated, 43 * second},
		{"after the undo is no resize's doing", resizing(func(pod func(history.Offset, int, string, int)) {
			all(pod)
			pod(50*second, 3, "5m", 1)
		}), promise, verdict.Held, 0},
		{"a pod was replaced", deleting(resizing(all), "backend-4", 22*second), promise, verdict.Violated, 22 * second},
		{"not all were resized", resizing(func(pod func(history.Offset, int, string, int)) { pod(20*second, 1, "20m", 0) }),
			promise, verdict.Unknown, 0},
		{"only the undo resized", resizing(func(pod func(history.Offset, int, string, int)) {
			for i := range 6 {
				pod(42*second, i+1, "20m", 0)
			}
		}), promise, verdict.Unknown, 0},
		{"what a kubelet had is not known", resizing(all).EditEvents(func(e *history.Event) {
			if e.Pod != nil && e.T < 11*second {
				e.Pod.CPU = ""
			}
		}), promise, verdict.Unknown, 0},
		{"no pods", newStepped().to().Builder, promise, verdict.Unknown, 0},
		{"no such workload", resizing(all), invariant.ResizedInPlace{Workload: "other"}, verdict.Unknown, 0},
		{"the fault was not seen", setStage(resizing(all), history.Seen, -1), promise, verdict.Unknown, 0},
		{"a watch was blind", resizing(all).Gap("pods", 25*second, 26*second), promise, verdict.Unknown, 0},
	})
	v := judge.Check(resizing(all).Run(), promise)
	numbers(t, v, map[string]float64{"resizedPods": 6, "disturbedPods": 0})
	if len(v.Evidence) != 6 {
		t.Errorf("evidence %q, want a line for each of 6 pods", v.Evidence)
	}
}

// TestResizesAreDisruptions: of a run in which pods were resized, and nothing else, promises about requests can be judged.
func TestResizesAreDisruptions(t *testing.T) {
	quiet := ht.Healthy().EditEvents(func(e *history.Event) {
		if e.Fault != nil && e.Fault.Stage == history.Seen {
			e.Fault.Pods = []string{"backend-1", "backend-2"}
		}
	}).DropEvents(func(e history.Event) bool { return e.T > ht.DisturbedAt && (e.Pod != nil || e.Eviction != nil) })
	check(t, quiet.Run(), invariant.NoFailedRequests{}, verdict.Unknown, 0)
	for i := range 2 {
		for n, cpu := range []string{"5m", "", "20m"} { // one that starts again has nothing for a while
			p := ht.ReadyPod(fmt.Sprintf("backend-%d", i+1), fmt.Sprintf("w%d", i+1), history.Modified)
			p.CPU = cpu
			quiet.Pod(ht.InjectingAt+history.Offset(n+1)*second, p)
		}
	}
	v := judge.Check(quiet.Run(), invariant.NoFailedRequests{})
	if v.Outcome != verdict.Held || v.Numbers["podResizes"] != 2 {
		t.Errorf("%s: %s, %v resizes; want held and 2", v.Outcome, v.Seen, v.Numbers["podResizes"])
	}
}

// deleting ends a pod at a moment.
func deleting(b *ht.Builder, name string, at history.Offset) *ht.Builder {
	p := ht.ReadyPod(name, "w4", history.Deleted)
	return b.Pod(at, p)
}
