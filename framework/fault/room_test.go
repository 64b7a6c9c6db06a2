package fault

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// crowded is a workload of three, for the third of which there is no room; tried: the scheduler has said so.
func crowded(t *testing.T, tried bool) *world {
	t.Helper()
	w := newWorld(3, "w1")
	tracker := w.client.Tracker()
	o, err := tracker.Get(corev1.SchemeGroupVersion.WithResource("pods"), "ns", "pod-003")
	if err != nil {
		t.Fatal(err)
	}
	pod := o.(*corev1.Pod).DeepCopy()
	pod.Spec.NodeName = ""
	if tried {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
	}
	d := w.deployment()
	d.Status.AvailableReplicas, d.Status.ReadyReplicas = 2, 2
	slices := discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
	o, err = tracker.Get(slices, "ns", "backend-1")
	if err != nil {
		t.Fatal(err)
	}
	slice := o.(*discoveryv1.EndpointSlice).DeepCopy()
	slice.Endpoints = slice.Endpoints[:2]
	for _, err := range []error{
		tracker.Update(corev1.SchemeGroupVersion.WithResource("pods"), pod, "ns"),
		tracker.Update(appsv1.SchemeGroupVersion.WithResource("deployments"), d, "ns"),
		tracker.Update(slices, slice, "ns"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func TestWhatHasNoRoomCountsAsSettledOnceTheSchedulerHasSaidSo(t *testing.T) {
	for _, test := range []struct {
		name  string
		world *world
		room  int
		done  bool
		saw   string
	}{
		{
			"as expected", crowded(t, true), 2, true,
			"3 pods exist, 3 of the newest revision, 2 available, 2 ready endpoints, 3 wanted, no node found for 1",
		},
		{
			"the scheduler has not tried", crowded(t, false), 2, false,
			"2 of 2 pods available; no node should be found for 1, and not for 0",
		},
		{
			"there was to be room for all", crowded(t, true), 0, false,
			"2 of 3 pods available; no node should be found for 0, and not for 1",
		},
		{
			"there was to be room for one", crowded(t, true), 1, false,
			"2 of 1 pod available; no node should be found for 2, and not for 1",
		},
		{
			"there is more room than was thought", newWorld(3, "w1"), 2, false,
			"3 of 2 pods available; no node should be found for 1, and not for 0",
		},
		{
			"room is not used up", newWorld(3, "w1"), 5, true,
			"3 pods exist, 3 of the newest revision, 3 available, 3 ready endpoints, 3 wanted",
		},
	} {
		target := test.world.target()
		target.SchedulableReplicas = test.room
		done, saw, err := target.settled(t.Context())
		if done != test.done || saw != test.saw || err != nil {
			t.Errorf("%s: %t, %q, %v", test.name, done, saw, err)
		}
	}
}
