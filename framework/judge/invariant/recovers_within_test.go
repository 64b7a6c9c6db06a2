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
	const good = "6 of 6 replicas ready, 6 pods, 6 ready endpoints"
	checkAll(t, []sample{
		{"held", ht.Healthy(), within(30 * second), verdict.Held, 0,
			"backend had recovered 0s after the last revert began at 30s: " + good},
		{"held by name", ht.Healthy(), invariant.RecoversWithin{Limit: second, Workload: "backend"}, verdict.Held, 0,
			"backend had recovered 0s after the last revert began at 30s: " + good},
		{"some time after the revert began", setStage(killed(), history.Healing, 30500*ms), within(2 * second), verdict.Held, 0,
			"backend had recovered 1s after the last revert began at 30.5s: " + good},
		{"just in time", setStage(killed(), history.Healing, 30500*ms), within(second), verdict.Held, 0,
			"backend had recovered 1s after the last revert began at 30.5s: " + good},
		{"too late", setStage(killed(), history.Healing, 30500*ms), within(900 * ms), verdict.Violated, 31400 * ms,
			"backend recovered 1s after the last revert began at 30.5s, and 900ms was the limit"},
		{"never", never, within(5 * second), verdict.Violated, 35 * second,
			"backend had not recovered 10s after the last revert began at 30s: 5 of 6 replicas ready, 6 pods, 5 ready endpoints"},
		{"not watched for long enough", never, within(12 * second), verdict.Unknown, 0,
			"no verdict: backend had not recovered when the record ended, 10s after the last revert began: " +
				"5 of 6 replicas ready, 6 pods, 5 ready endpoints"},
		{"unsettled again", ht.Healthy().Workload(36*second, ht.BackendWorkload(5, 6)).Workload(38*second, ht.BackendWorkload(6, 6)),
			within(5 * second), verdict.Violated, 35 * second, "backend recovered 8s after the last revert began at 30s, and 5s was the limit"},
		{"an endpoint is missing", ht.Healthy().Slice(33*second, sliceOf(2, 3, 4, 5, 6)), within(5 * second), verdict.Violated, 35 * second,
			"backend had not recovered 10s after the last revert began at 30s: 6 of 6 replicas ready, 6 pods, 5 ready endpoints"},
		{"an endpoint too many", ht.Healthy().Slice(33*second, sliceOf(1, 2, 3, 4, 5, 6, 7)), within(5 * second), verdict.Violated, 35 * second,
			"backend had not recovered 10s after the last revert began at 30s: 6 of 6 replicas ready, 6 pods, 7 ready endpoints"},
		{"a fault that nobody undoes counts from when it was seen",
			setStage(setStage(killed(), history.Healing, -1), history.Healed, -1).DropEvents(func(e history.Event) bool {
				return e.Node != nil && e.T > healAt
			}), within(16 * second), verdict.Held, 0, "backend had recovered 15.5s after the last revert began at 16s: " + good},
		{"never disturbed", ht.Healthy().DropEvents(func(e history.Event) bool {
			return e.T >= ht.DisturbedAt && e.T < ht.HealingAt && (e.Pod != nil || e.Slice != nil || e.Workload != nil)
		}), within(5 * second), verdict.Unknown, 0, "no verdict: backend was never disturbed"},
		{"unknown", ht.Healthy().Incomplete("cut off"), within(5 * second), verdict.Unknown, 0,
			"no verdict: the record is incomplete: cut off"},
		{"no workload", ht.Healthy(), invariant.RecoversWithin{Limit: second, Workload: "other"}, verdict.Unknown, 0,
			"no verdict: the record has no Deployment other"},
		{"no fault", ht.Healthy().DropEvents(func(e history.Event) bool { return e.Fault != nil }), within(second), verdict.Unknown, 0,
			"no verdict: no fault was injected"},
		{"a Job's pod with the workload's labels", owned().Pod(32*second, jobsPod()), within(5 * second), verdict.Held, 0,
			"backend had recovered 0s after the last revert began at 30s: " + good},
		{"such a pod in an older record", ht.Healthy().Pod(32*second, ht.ReadyPod("backend-job", "w3", history.Added)), within(5 * second), verdict.Violated, 35 * second,
			"backend had not recovered 10s after the last revert began at 30s: 7 of 6 replicas ready, 7 pods, 6 ready endpoints"},
		{"a Job's pod in place of the workload's", owned().DropEvents(func(e history.Event) bool {
			return e.Pod != nil && e.Pod.Name == ht.Replacement && e.T >= ht.ReplacedAt
		}).Pod(ht.ReplacedAt, jobsPod()), within(5 * second), verdict.Violated, 35 * second,
			"backend had not recovered 10s after the last revert began at 30s: 5 of 6 replicas ready, 6 pods, 6 ready endpoints"},
		{"a failed pod that is kept for its logs", ht.Healthy().Pod(32*second, history.Pod{
			Change: history.Added, Name: "backend-8", UID: "uid-8", Node: "w1", Phase: "Failed",
			Labels: ht.ReadyPod("backend-8", "w1", history.Added).Labels,
		}), within(5 * second), verdict.Held, 0, "backend had recovered 0s after the last revert began at 30s: " + good},
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
	const good = "6 of 6 replicas ready, 6 pods, 6 ready endpoints"
	checkAll(t, []sample{
		{"held", replaced(25500 * ms), within(15 * second), verdict.Held, 0, "backend had recovered 10s after the fault began at 15.5s: " + good},
		{"just in time", replaced(25500 * ms), within(10 * second), verdict.Held, 0, "backend had recovered 10s after the fault began at 15.5s: " + good},
		{"too late, and before the revert began", replaced(29900 * ms), within(14 * second), verdict.Violated, 29500 * ms,
			"backend recovered 14.4s after the fault began at 15.5s, and 14s was the limit"},
		{"the same, counted from the undo", replaced(29900 * ms), invariant.RecoversWithin{Limit: second}, verdict.Held, 0,
			"backend had recovered 0s after the last revert began at 30s: " + good},
		{"never", ht.Healthy().DropEvents(func(e history.Event) bool { return e.T >= ht.ReplacedAt && e.Slice != nil }), within(20 * second),
			verdict.Violated, 35500 * ms, "backend had not recovered 24.5s after the fault began at 15.5s: 6 of 6 replicas ready, 6 pods, 5 ready endpoints"},
		{"from the first of two faults", another(killed(), 20*second, 21*second, 28*second, 29*second), within(15 * second), verdict.Violated, killAt + 15*second,
			"backend recovered 16s after the fault began at 15.5s, and 15s was the limit"},
		{"a fault that has no beginning", setStage(ht.Healthy(), history.Injecting, -1), within(30 * second), verdict.Unknown, 0,
			"no verdict: drain one worker has no start in the record"},
	})
	if got := within(15 * second).String(); got != "the workload recovers within 15s of the beginning of the fault" {
		t.Error(got)
	}
}

func TestRecoversWithinNumbers(t *testing.T) {
	v := judge.Check(setStage(killed(), history.Healing, 30500*ms).Run(), invariant.RecoversWithin{Limit: 2 * second})
	numbers(t, v, map[string]float64{"limitSeconds": 2, "recoveredSeconds": 1})
	lines(t, v, "the last revert began at 30.5s; settled for good at 31.5s: 6 of 6 replicas ready, 6 pods, 6 ready endpoints")
}
