package timeline

import (
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// surging is a Deployment of three whose rollout has made one new pod.
func surging() history.Workload {
	return history.Workload{Name: "web", Template: "new", Replicas: 3, Updated: 1, Ready: 3, Available: 3, Total: 4, Observed: true}
}

func old(n int) (pods []history.Pod) {
	for i := range n {
		pods = append(pods, history.Pod{Name: "old-" + string(rune('a'+i)), Node: "w1", Phase: "Running", Ready: true})
	}
	return pods
}

func with(edit func(*history.Workload)) history.Workload {
	w := surging()
	edit(&w)
	return w
}

func TestWhyARolloutDoesNotEnd(t *testing.T) {
	pending := history.Pod{Name: "new-1", Phase: "Pending", Unschedulable: "0/4 nodes are available"}
	starting := func(waiting string, restarts int) history.Pod {
		return history.Pod{Name: "new-1", Node: "w2", Phase: "Running", Waiting: waiting, Restarts: restarts}
	}
	const none = "no node takes pod new-1 (FailedScheduling): 0/4 nodes are available"
	for name, test := range map[string]struct {
		w    history.Workload
		pods []history.Pod
		want string // after a minute without a change
		room bool
	}{
		"no node":             {surging(), append(old(3), pending), none, true},
		"a container":         {surging(), append(old(3), starting("ImagePullBackOff", 0)), "pod new-1 does not start (ImagePullBackOff)", false},
		"it crashes":          {surging(), append(old(3), starting("", 3)), "pod new-1 was restarted 3 times and is not ready (CrashLoopBackOff)", false},
		"it crashed twice":    {surging(), append(old(3), starting("CrashLoopBackOff", 2)), "", false},
		"it is being created": {surging(), append(old(3), starting("ContainerCreating", 0)), "", false},
		"a pod is going":      {surging(), append(old(2), pending, history.Pod{Name: "old-c", Node: "w3", Deleting: true}), "", false},
		"an old pod crashes while it goes": {surging(), append(old(2), history.Pod{Name: "old-c", Node: "w3", Deleting: true, Restarts: 9}),
			"", false},
		"a quota": {with(func(w *history.Workload) { w.Refused = `pods "web-1" is forbidden: exceeded quota: team` }), old(3),
			`no further pod is created (FailedCreate): pods "web-1" is forbidden: exceeded quota: team`, true},
		"a webhook": {with(func(w *history.Workload) { w.Refused = "failed calling webhook" }), old(3),
			"no further pod is created (FailedCreate): failed calling webhook", false},
		"it has ended": {with(func(w *history.Workload) { w.Updated, w.Total, w.Refused = 3, 3, "failed calling webhook" }), old(3), "", false},
		"its controller has not seen it": {with(func(w *history.Workload) { w.Observed, w.Overdue = false, "timed out" }),
			append(old(3), pending), "", false},
	} {
		var r RolloutWatch
		for at := range 61 {
			r.See(history.Offset(at)*s, test.w, test.pods)
		}
		if got := r.Hopeless(60*s, HopelessAfter); got.Words != test.want || got.NoRoom != test.room {
			t.Errorf("%s: %+v, want %q", name, got, test.want)
		}
		if early := r.Hopeless(59*s, HopelessAfter); early != (RolloutReason{}) {
			t.Errorf("%s: %+v after 59 s", name, early)
		}
	}
}

// Progress restarts the time, and so does a reason that has passed. No time is needed once Kubernetes itself has given up.
func TestWhatStandsStill(t *testing.T) {
	pods := append(old(3), history.Pod{Name: "new-1", Phase: "Pending", Unschedulable: "no"})
	var r RolloutWatch
	r.See(0, surging(), pods)
	r.See(50*s, with(func(w *history.Workload) { w.Updated = 2 }), pods)
	if got := r.Hopeless(100*s, HopelessAfter); got != (RolloutReason{}) {
		t.Errorf("50 s after progress: %+v", got)
	}
	r.See(101*s, with(func(w *history.Workload) { w.Updated = 2 }), old(3))
	r.See(102*s, with(func(w *history.Workload) { w.Updated = 2 }), pods)
	if got := r.Hopeless(150*s, HopelessAfter); got != (RolloutReason{}) || r.Since() != 102*s {
		t.Errorf("48 s after the reason came back: %+v since %s", got, r.Since())
	}
	late := with(func(w *history.Workload) { w.Overdue = "has timed out progressing." })
	r.See(151*s, late, pods)
	const want = "no node takes pod new-1 (FailedScheduling): no; ProgressDeadlineExceeded: has timed out progressing."
	if got := r.Hopeless(151*s, HopelessAfter); got.Words != want {
		t.Errorf("got %q", got.Words)
	}
	r.See(152*s, late, old(3))
	if got := r.Hopeless(152*s, HopelessAfter); got.Words != "ProgressDeadlineExceeded: has timed out progressing." || got.NoRoom {
		t.Errorf("got %+v", got)
	}
}

// The controllers of StatefulSets and DaemonSets have no condition for a pod that they cannot create: they tell by Events.
func TestOthersThanDeploymentsTellByEvents(t *testing.T) {
	for _, kind := range []string{"StatefulSet", "DaemonSet"} {
		w := history.Workload{
			StatefulSet: kind == "StatefulSet", DaemonSet: kind == "DaemonSet", Template: "new", Replicas: 3, Updated: 1, Ready: 2, Available: 2, Total: 2, Observed: true,
		}
		var r RolloutWatch
		r.Note(kind, "SuccessfulCreate", "create Pod")
		r.Note("Pod", "FailedCreate", "of another kind")
		r.See(0, w, old(2))
		if got := r.Hopeless(time.Hour, HopelessAfter); got != (RolloutReason{}) {
			t.Errorf("%s: got %+v", kind, got)
		}
		r.Note(kind, "FailedCreate", "failed calling webhook")
		r.See(s, w, old(2))
		if got := r.Hopeless(61*s, HopelessAfter); got.Words != "no further pod is created (FailedCreate): failed calling webhook" {
			t.Errorf("%s: got %+v", kind, got)
		}
		r.See(62*s, w, old(3))
		if got := r.Hopeless(time.Hour, HopelessAfter); got != (RolloutReason{}) {
			t.Errorf("%s: its pod was created after all: %+v", kind, got)
		}
	}
}
