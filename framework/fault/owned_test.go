package fault

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// foreign adds a pod with the workload's labels that another controller has made.
func (w *world) foreign(t *testing.T, kind, name, hash string) {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name + "-x", Namespace: "ns", UID: "foreign", Labels: map[string]string{"app": "backend"},
		OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: name, Controller: new(true)}},
	}, Spec: corev1.PodSpec{NodeName: "w1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	if hash != "" {
		p.Labels["pod-template-hash"] = hash
	}
	if err := w.client.Tracker().Add(p); err != nil {
		t.Fatal(err)
	}
}

// offer makes pods ready endpoints of the workload's Service, in another slice.
func (w *world) offer(refs ...corev1.ObjectReference) {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Name: "backend-2", Namespace: "ns", Labels: map[string]string{discoveryv1.LabelServiceName: "backend"},
	}}
	for i := range refs {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{TargetRef: &refs[i], Conditions: discoveryv1.EndpointConditions{Ready: new(true)}})
	}
	_ = w.client.Tracker().Add(s)
}

// TestPodsOfOthersAreNeitherCountedNorVictims, whatever their labels say.
func TestPodsOfOthersAreNeitherCountedNorVictims(t *testing.T) {
	for name, other := range map[string]struct{ kind, name, hash string }{
		"of a Job":                 {"Job", "backup", ""},
		"of a canary":              {"ReplicaSet", "backend-canary-5d", "5d"},
		"of a StatefulSet":         {"StatefulSet", "backend", ""},
		"of a ReplicaSet by hand":  {"ReplicaSet", "backend", ""},
		"of a Deployment named so": {"ReplicaSet", "backend-5d-77", "77"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(3, "w1", "w2", "w3")
			w.foreign(t, other.kind, other.name, other.hash)
			w.offer(corev1.ObjectReference{Name: other.name + "-x", UID: "foreign"})
			target := w.target()
			done, saw, err := target.settled(t.Context())
			if !done || err != nil || !strings.HasPrefix(saw, "3 pods exist, 3 of the newest revision, 3 available, 3 ready endpoints, 3 wanted") {
				t.Errorf("settled %t, %v: %s", done, err, saw)
			}
			staying, err := target.staying(t.Context())
			if err != nil || slices.Contains(slices.Collect(maps.Keys(staying)), other.name+"-x") {
				t.Errorf("a pod of another is a victim: %v, %v", slices.Sorted(maps.Keys(staying)), err)
			}
			if _, err := (PodDelete{Count: 4}).Plan(t.Context(), target); err == nil || !strings.HasSuffix(err.Error(), "it has only 3") {
				t.Errorf("four of three pods can be deleted: %v", err)
			}
		})
	}
}

// TestAGonePodIsNoEndpoint: endpoints of others are allowed, and what is left of pods that have gone is not.
func TestAGonePodIsNoEndpoint(t *testing.T) {
	for name, test := range map[string]struct {
		ref   corev1.ObjectReference
		ended bool // such a pod of the workload is there
		want  string
	}{
		"no longer there":            {corev1.ObjectReference{Name: "pod-099", UID: "99"}, false, "pod-099"},
		"another has taken its name": {corev1.ObjectReference{Name: "pod-001", UID: "before"}, false, "pod-001"},
		"ended":                      {corev1.ObjectReference{Name: "backend-5d-x", UID: "foreign"}, true, "backend-5d-x"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(3, "w1", "w2", "w3")
			if test.ended {
				w.foreign(t, "ReplicaSet", "backend-5d", "5d")
				o, _ := w.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), "ns", "backend-5d-x")
				p := o.(*corev1.Pod).DeepCopy()
				p.Status.Phase = corev1.PodFailed
				_ = w.client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), p, "ns")
			}
			w.offer(test.ref)
			done, saw, err := w.target().settled(t.Context())
			if want := "3 of 3 pods available; Service backend should not have " + test.want + ", which has gone (it has 3, and 1 of other pods)"; done || err != nil || saw != want {
				t.Errorf("settled %t, %v: %s", done, err, saw)
			}
		})
	}
}

// TestWhatIsNotSettledSaysWhatIsMissing, each thing that is missing by itself, with the number that there is.
func TestWhatIsNotSettledSaysWhatIsMissing(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(t *testing.T, w *world)
		want  string
	}{
		"a pod is not available": {func(_ *testing.T, w *world) {
			d := w.deployment()
			d.Status.AvailableReplicas = 2
			_ = w.client.Tracker().Update(deployments, d, "ns")
		}, "2 of 3 pods available"},
		"its change was not seen": {func(_ *testing.T, w *world) {
			d := w.deployment()
			d.Generation = d.Status.ObservedGeneration + 1
			_ = w.client.Tracker().Update(deployments, d, "ns")
		}, "3 of 3 pods available; its controller has not seen its newest change"},
		"an endpoint is missing": {func(t *testing.T, w *world) {
			w.withhold(t, 2)
		}, "3 of 3 pods available; Service backend should have 3 endpoints (it has 2)"},
		"an endpoint is missing, and a pod of another is there": {func(t *testing.T, w *world) {
			w.foreign(t, "Job", "backup", "")
			w.offer(corev1.ObjectReference{Name: "backup-x", UID: "foreign"})
			w.withhold(t, 2)
		}, "3 of 3 pods available; Service backend should have 3 endpoints (it has 2, and 1 of other pods)"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(3, "w1", "w2", "w3")
			test.spoil(t, w)
			if done, saw, err := w.target().settled(t.Context()); done || err != nil || saw != test.want {
				t.Errorf("settled %t, %v: %s\nwant %s", done, err, saw, test.want)
			}
		})
	}
}

// withhold leaves only the first n of the workload's pods behind its Service.
func (w *world) withhold(t *testing.T, n int) {
	t.Helper()
	slices := discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
	o, err := w.client.Tracker().Get(slices, "ns", "backend-1")
	if err != nil {
		t.Fatal(err)
	}
	slice := o.(*discoveryv1.EndpointSlice).DeepCopy()
	slice.Endpoints = slice.Endpoints[:n]
	if err := w.client.Tracker().Update(slices, slice, "ns"); err != nil {
		t.Fatal(err)
	}
}
