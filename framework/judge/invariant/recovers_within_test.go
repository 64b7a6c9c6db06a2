package invariant_test

import (
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

func TestRecoversWithin(t *testing.T) {
	within := func(limit time.Duration) invariant.Invariant { return invariant.RecoversWithin{Limit: limit} }
	never := killed().DropEvents(func(e history.Event) bool {
		return e.T > healAt && (e.Workload != nil || e.Pod != nil || e.Slice != nil)
	})

	checkAll(t, []sample{
		{"held", ht.Healthy(), within(30 * second), verdict.Held, 0},
		{"held by name", ht.Healthy(), invariant.RecoversWithin{Limit: second, Workload: "backend"}, verdict.Held, 0},
		{"some time after the revert began", setStage(killed(), history.Healing, 30500*ms), within(2 * second), verdict.Held, 0},
		{"just in time", setStage(killed(), history.Healing, 30500*ms), within(second), verdict.Held, 0},
		{"too late", setStage(killed(), history.Healing, 30500*ms), within(900 * ms), verdict.Violated, 31400 * ms},
		{"never", never, within(5 * second), verdict.Violated, 35 * second},
		{"not watched for long enough", never, within(12 * second), verdict.Unknown, 0},
		{"unsettled again", ht.Healthy().Workload(36*second, ht.BackendWorkload(5, 6)).Workload(38*second, ht.BackendWorkload(6, 6)),
			within(5 * second), verdict.Violated, 35 * second},
		{"an endpoint is missing", ht.Healthy().Slice(33*second, sliceOf(2, 3, 4, 5, 6)), within(5 * second), verdict.Violated, 35 * second},
		{"an endpoint too many", ht.Healthy().Slice(33*second, sliceOf(1, 2, 3, 4, 5, 6, 7)), within(5 * second), verdict.Violated, 35 * second},
		{"a fault that nobody undoes counts from when it was seen",
			setStage(setStage(killed(), history.Healing, -1), history.Healed, -1).DropEvents(func(e history.Event) bool {
				return e.Node != nil && e.T > healAt
			}), within(16 * second), verdict.Held, 0},
		{"never disturbed", ht.Healthy().DropEvents(func(e history.Event) bool {
			return e.T >= ht.DisturbedAt && e.T < ht.HealingAt && (e.Pod != nil || e.Slice != nil || e.Workload != nil)
		}), within(5 * second), verdict.Unknown, 0},
		{"unknown", ht.Healthy().Incomplete("cut off"), within(5 * second), verdict.Unknown, 0},
		{"no workload", ht.Healthy(), invariant.RecoversWithin{Limit: second, Workload: "other"}, verdict.Unknown, 0},
		{"no fault", ht.Healthy().DropEvents(func(e history.Event) bool { return e.Fault != nil }), within(second), verdict.Unknown, 0},
		{"a Job's pod with the workload's labels", owned().Pod(32*second, jobsPod()), within(5 * second), verdict.Held, 0},
		{"such a pod in an older record", ht.Healthy().Pod(32*second, ht.ReadyPod("backend-job", "w3", history.Added)), within(5 * second), verdict.Violated, 35 * second},
		{"a Job's pod in place of the workload's", owned().DropEvents(func(e history.Event) bool {
			return e.Pod != nil && e.Pod.Name == ht.Replacement && e.T >= ht.ReplacedAt
		}).Pod(ht.ReplacedAt, jobsPod()), within(5 * second), verdict.Violated, 35 * second},
		{"a failed pod that is kept for its logs", ht.Healthy().Pod(32*second, history.Pod{
			Change: history.Added, Name: "backend-8", UID: "uid-8", Node: "w1", Phase: "Failed",
			Labels: ht.ReadyPod("backend-8", "w1", history.Added).Labels,
		}), within(5 * second), verdict.Held, 0},
	})
}

// owned is a record that says who made each pod.
func owned() *ht.Builder {
	return ht.Healthy().EditEvents(func(e *history.Event) {
		if e.Pod != nil {
			e.Pod.Owner = history.OwnerOf("ReplicaSet", ht.Deployment+"-"+e.Pod.Labels[ht.RevisionLabel])
		}
	})
}

// jobsPod has every label that the workload selects.
func jobsPod() history.Pod {
	pod := ht.ReadyPod("backend-job", "w3", history.Added)
	pod.Owner = history.OwnerOf("Job", "backup")
	return pod
}

// TestRecoversWithinFromTheFault: what a fault takes is gone long before its undo begins. A workload that comes back in that
// time has recovered at once if the undo counts, however long it took.
func TestRecoversWithinFromTheFault(t *testing.T) {
	within := func(limit time.Duration) invariant.Invariant {
		return invariant.RecoversWithin{Limit: limit, FromFault: true}
	}
	replaced := func(at history.Offset) *ht.Builder { // in place of what was done in time, while the harness waited
		return ht.Healthy().EditEvents(func(e *history.Event) {
			if e.T >= ht.ReplacedAt && e.T < ht.HealingAt && (e.Pod != nil || e.Workload != nil || e.Slice != nil) {
				e.T = at
			}
		})
	}

	checkAll(t, []sample{
		{"held", replaced(25500 * ms), within(15 * second), verdict.Held, 0},
		{"just in time", replaced(25500 * ms), within(10 * second), verdict.Held, 0},
		{"too late, and before the revert began", replaced(29900 * ms), within(14 * second), verdict.Violated, 29500 * ms},
		{"the same, counted from the undo", replaced(29900 * ms), invariant.RecoversWithin{Limit: second}, verdict.Held, 0},
		{"never", ht.Healthy().DropEvents(func(e history.Event) bool { return e.T >= ht.ReplacedAt && e.Slice != nil }), within(20 * second),
			verdict.Violated, 35500 * ms},
		{"from the first of two faults", another(killed(), 20*second, 21*second, 28*second, 29*second), within(15 * second), verdict.Violated, killAt + 15*second},
		{"a fault that has no beginning", setStage(ht.Healthy(), history.Injecting, -1), within(30 * second), verdict.Unknown, 0},
	})
	if got := within(15 * second).String(); got != "the workload recovers within 15s of the beginning of the fault" {
		t.Error(got)
	}
}

func TestRecoversWithinNumbers(t *testing.T) {
	v := judge.Check(setStage(killed(), history.Healing, 30500*ms).Run(), invariant.RecoversWithin{Limit: 2 * second})
	numbers(t, v, map[string]float64{"limitSeconds": 2, "recoveredSeconds": 1})
	lines(t, v)
}
