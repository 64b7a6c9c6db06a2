package fault

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"
)

// stateful has the world offer its workload as a StatefulSet, and no Deployment.
func (w *world) stateful() {
	w.kind = statefulSet
	w.client.PrependReactor("*", "deployments", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("there is no Deployment")
	})
	w.client.PrependReactor("get", "statefulsets", func(a k8stesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() == "scale" {
			return w.scaleOf(a)
		}
		return true, w.statefulSet(), nil
	})
	w.client.PrependReactor("update", "statefulsets", w.scaled)
	w.client.PrependReactor("patch", "statefulsets", func(a k8stesting.Action) (bool, runtime.Object, error) {
		_, _, err := w.rolled(a)
		return true, w.statefulSet(), err
	})
}

func (w *world) statefulSet() *appsv1.StatefulSet {
	d := w.deployment()
	return &appsv1.StatefulSet{
		ObjectMeta: d.ObjectMeta,
		Spec:       appsv1.StatefulSetSpec{Replicas: d.Spec.Replicas, Selector: d.Spec.Selector, Template: d.Spec.Template},
		Status: appsv1.StatefulSetStatus{
			ObservedGeneration: d.Status.ObservedGeneration, UpdatedReplicas: d.Status.UpdatedReplicas,
			AvailableReplicas: d.Status.AvailableReplicas,
		},
	}
}

// TestFaultsOfAStatefulSet bite and are undone as those of a Deployment are.
func TestFaultsOfAStatefulSet(t *testing.T) {
	each(t, func(t *testing.T, f Fault, w *world) {
		w.stateful()
		target := w.target()
		target.Kind = statefulSet
		heal, err := inject(t.Context(), f, target)
		if err != nil || len(w.seen) != 1 {
			t.Fatalf("got %v, seen %q", err, w.seen)
		}
		if err := heal(t.Context()); err != nil || len(w.healed) != 1 || len(w.podNames()) != 6 {
			t.Errorf("undo: %v, healed %q, %d pods", err, w.healed, len(w.podNames()))
		}
	})
}

// onEveryNode has the world offer its workload as a DaemonSet, and no Deployment.
func (w *world) onEveryNode() {
	w.kind = daemonSet
	w.client.PrependReactor("*", "deployments", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("there is no Deployment")
	})
	set := func() *appsv1.DaemonSet {
		d := w.deployment()
		return &appsv1.DaemonSet{
			ObjectMeta: d.ObjectMeta,
			Spec:       appsv1.DaemonSetSpec{Selector: d.Spec.Selector, Template: d.Spec.Template},
			Status: appsv1.DaemonSetStatus{
				ObservedGeneration: d.Status.ObservedGeneration, DesiredNumberScheduled: *d.Spec.Replicas,
				UpdatedNumberScheduled: d.Status.UpdatedReplicas, NumberAvailable: d.Status.AvailableReplicas,
			},
		}
	}
	w.client.PrependReactor("get", "daemonsets", func(k8stesting.Action) (bool, runtime.Object, error) { return true, set(), nil })
	w.client.PrependReactor("patch", "daemonsets", func(a k8stesting.Action) (bool, runtime.Object, error) {
		_, _, err := w.rolled(a)
		return true, set(), err
	})
}

// TestFaultsOfADaemonSet bite and are undone. Its replicas are in its status, and it cannot be scaled.
func TestFaultsOfADaemonSet(t *testing.T) {
	for _, f := range []Fault{Rollout{}, TryRollout{}, BadRollout{Image: NoSuchImage}, PodDelete{Count: 1}, NodeKill{}} {
		t.Run(f.String(), inBubble(func(t *testing.T) {
			w := newWorld(6, "wa", "wb", "wc")
			w.onEveryNode()
			target := w.target()
			target.Kind = daemonSet
			heal, err := inject(t.Context(), f, target)
			if err != nil || len(w.seen) != 1 {
				t.Fatalf("got %v, seen %q", err, w.seen)
			}
			if err := heal(t.Context()); err != nil || len(w.healed) != 1 || len(w.podNames()) != 6 {
				t.Errorf("undo: %v, healed %q, %d pods", err, w.healed, len(w.podNames()))
			}
		}))
	}
	w := newWorld(6, "w1")
	w.onEveryNode()
	deployments := w.target()
	if pods, err := deployments.pods(t.Context()); err == nil {
		t.Errorf("a Deployment of the same name has %d pods of the DaemonSet", len(pods))
	}
}

// A pod of the old revision that is left on one node keeps a DaemonSet from being settled, however many are available.
func TestADaemonSetSettlesOnAllItsNodes(t *testing.T) {
	status := appsv1.DaemonSetStatus{ObservedGeneration: 2, DesiredNumberScheduled: 3, CurrentNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberReady: 3, NumberAvailable: 3}
	for what, test := range map[string]struct {
		change func(*appsv1.DaemonSetStatus)
		want   string
	}{
		"settled":               {func(*appsv1.DaemonSetStatus) {}, ""},
		"one of three replaced": {func(s *appsv1.DaemonSetStatus) { s.UpdatedNumberScheduled = 1 }, "3 should be of the newest revision, and not 1"},
		"a node more":           {func(s *appsv1.DaemonSetStatus) { s.DesiredNumberScheduled = 4 }, "4 pods should exist, and not 3"},
		"an old status":         {func(s *appsv1.DaemonSetStatus) { s.ObservedGeneration = 1 }, "its controller has not seen its newest change"},
	} {
		w := newWorld(3, "w1", "w2", "w3")
		w.onEveryNode()
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "backend", Namespace: "ns", Generation: 2}, Status: status}
		set.Spec.Selector = w.deployment().Spec.Selector
		test.change(&set.Status)
		w.client.PrependReactor("get", "daemonsets", func(k8stesting.Action) (bool, runtime.Object, error) { return true, set, nil })
		target := w.target()
		target.Kind = daemonSet
		done, saw, err := target.settled(t.Context())
		if err != nil || done != (test.want == "") || !strings.Contains(saw, test.want) {
			t.Errorf("%s: %t, %q, %v", what, done, saw, err)
		}
	}
}

// TestAStatefulSetThatIsMissing is named for what it is.
func TestAStatefulSetThatIsMissing(t *testing.T) {
	target := newWorld(6, "w1").target()
	target.Kind = statefulSet
	_, err := target.deployment(t.Context())
	if want := `read statefulset ns/backend: statefulsets.apps "backend" not found`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestASuccessorOfTheSameName: the pod that is gone is told from the one that has come for it.
func TestASuccessorOfTheSameName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1, "w1")
		target := w.target()
		before, err := target.pods(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pod := before["pod-001"]
		offer := func(next *corev1.Pod) {
			yes := true
			endpoint := discoveryv1.Endpoint{
				Conditions: discoveryv1.EndpointConditions{Ready: &yes},
				TargetRef:  &corev1.ObjectReference{Name: next.Name, UID: next.UID},
			}
			s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
				Name: "backend-1", Namespace: "ns", Labels: map[string]string{discoveryv1.LabelServiceName: "backend"},
			}, Endpoints: []discoveryv1.Endpoint{endpoint}}
			_ = w.client.Tracker().Update(discoveryv1.SchemeGroupVersion.WithResource("endpointslices"), s, "ns")
		}
		next := pod.DeepCopy()
		next.UID = "next"
		_ = w.client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), next, "ns")
		offer(&pod)
		if gone, _, err := target.podsGone(t.Context(), before, []string{"pod-001"}); gone || err != nil {
			t.Error("clients are still sent to the one that is gone")
		}
		offer(next)
		if gone, _, err := target.podsGone(t.Context(), before, []string{"pod-001"}); !gone || err != nil {
			t.Error(err)
		}
	})
}
