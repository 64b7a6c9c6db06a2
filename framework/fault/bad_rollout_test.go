package fault

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
)

// TestABadRolloutsPatch: the command line of the one container grows, and is as it was after the undo.
func TestABadRolloutsPatch(t *testing.T) {
	w := newWorld(6, "w1", "w2")
	heal, err := inject(t.Context(), BadRollout{Args: badArgs}, w.target())
	if err != nil {
		t.Fatal(err)
	}
	if got := w.badNames(); len(got) != surge || len(w.podNames()) != 6 {
		t.Errorf("beside %q there are %q", w.podNames(), got)
	}
	if err := heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	const before = `{"spec":{"template":{"spec":{"containers":[{"args":["serve","--quiet"`
	want := []string{before + `,"--broken=hang"],"name":"server"}]}}}}`, before + `],"name":"server"}]}}}}`}
	if !slices.Equal(w.patches, want) {
		t.Errorf("patched\n %q\nwant\n %q", w.patches, want)
	}
	if got := w.badNames(); len(got) != 0 {
		t.Errorf("after the undo there are %q", got)
	}
}

// TestABadVersionMayBeTakenForGood: that it is not, is what a readiness probe is for. It was rolled out all the same.
func TestABadVersionMayBeTakenForGood(t *testing.T) {
	w := newWorld(6, "w1", "w2")
	w.unprobed = true
	if _, err := inject(t.Context(), BadRollout{Args: badArgs}, w.target()); err != nil {
		t.Fatal(err)
	}
	const want = "nodes=[] pods=0 2 pods of the bad version, 2 have run, 2 ready; 6 of the old, 6 ready; by the deployment 2 updated, 6 available"
	if len(w.seen) != 1 || w.seen[0] != want {
		t.Errorf("seen %q, want %q", w.seen, want)
	}
}

// TestABadVersionThatNeverRan was not tried.
func TestABadVersionThatNeverRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6, "w1", "w2")
		w.starting = true
		heal, err := inject(t.Context(), BadRollout{Args: badArgs}, w.target())
		const want = "waited 1m30s for the bad version of backend to run: last seen 2 pods of the bad version, 0 have run, 0 ready; 6 of the old"
		if err == nil || !strings.HasPrefix(err.Error(), want) || len(w.seen) != 0 {
			t.Errorf("got %v, seen %q, want %s", err, w.seen, want)
		}
		if err := heal(t.Context()); err != nil || len(w.badNames()) != 0 {
			t.Errorf("undo: %v, left %q", err, w.badNames())
		}
	})
}

// TestAnImageThatDoesNotExist: it is the main container's, whichever comes first, and only the kubelets' word that they cannot get it counts.
func TestAnImageThatDoesNotExist(t *testing.T) {
	const (
		pulled = "nodes=[] pods=0 2 pods of the bad version, 2 wait for their image, 0 ready; 6 of the old, 6 ready; by the deployment 2 updated, 6 available"
		limit  = "waited 1m30s for the bad version of backend to wait for its image: last seen 2 pods of the bad version, 0 wait for their image, 0 ready; 6 of the old"
	)
	waiting := func(reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Waiting.Reason = reason }
	}
	for name, test := range map[string]struct {
		status     func(*corev1.Pod)
		seen, want string
	}{
		"the kubelets cannot pull it":    {waiting("ErrImagePull"), pulled, ""},
		"and wait":                       {waiting("ImagePullBackOff"), pulled, ""},
		"and may not pull":               {waiting("ErrImageNeverPull"), pulled, ""},
		"the containers are being made":  {waiting("ContainerCreating"), "", limit},
		"no kubelet has said anything":   {func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }, "", limit},
		"another container waits for it": {func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Name = "sidecar" }, "", limit},
		"it runs, whatever it is": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		}, "", limit},
	} {
		t.Run(name, inBubble(func(t *testing.T) {
			w := newWorld(6, "w1", "w2")
			w.ofBad = test.status
			heal, err := inject(t.Context(), BadRollout{Image: NoSuchImage}, w.target())
			switch {
			case test.want == "" && (err != nil || len(w.seen) != 1 || w.seen[0] != test.seen):
				t.Errorf("seen %q, %v", w.seen, err)
			case test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want) || len(w.seen) != 0):
				t.Errorf("got %v, seen %q", err, w.seen)
			}
			if err := heal(t.Context()); err != nil || len(w.badNames()) != 0 || len(w.podNames()) != 6 {
				t.Errorf("undo: %v, left %q", err, w.allNames())
			}
			const image = `{"spec":{"template":{"spec":{"containers":[{"image":"`
			if want := []string{image + NoSuchImage + `","name":"server"}]}}}}`, image + `backend:1","name":"server"}]}}}}`}; !slices.Equal(w.patches, want) {
				t.Errorf("patched %q", w.patches)
			}
		}))
	}
}

// TestAnImageOfTheMainContainer: a sidecar keeps its own.
func TestAnImageOfTheMainContainer(t *testing.T) {
	w := newWorld(6, "w1")
	d := w.deployment()
	d.Spec.Template.Annotations = map[string]string{defaultContainer: "app"}
	d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "app", Image: "app:1"})
	_ = w.client.Tracker().Update(deployments, d, "ns")
	in, err := Plan(t.Context(), BadRollout{Image: NoSuchImage}, w.target())
	if err != nil {
		t.Fatal(err)
	}
	_ = in.disruption.Apply(t.Context())
	if len(w.patches) != 1 || !strings.Contains(w.patches[0], `"name":"app"`) {
		t.Errorf("patched %q", w.patches)
	}
}

// TestAStatefulSetIsFreedOfABadImage: its controller would wait for the pod without an image for ever. A pod of the good one is never deleted.
func TestAStatefulSetIsFreedOfABadImage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6, "w1", "w2")
		w.stateful()
		target := w.target()
		target.Kind = statefulSet
		heal, err := inject(t.Context(), BadRollout{Image: NoSuchImage}, target)
		if err != nil {
			t.Fatal(err)
		}
		good, bad := w.podNames(), w.badNames()
		w.fail("delete", "pods", 1, 1) // it is tried again
		if err := heal(t.Context()); err != nil || len(bad) != surge || len(w.badNames()) != 0 || !slices.Equal(w.podNames(), good) {
			t.Errorf("undo: %v; of %q and %q there are %q", err, good, bad, w.allNames())
		}
	})
}

// TestABadVersionOfTwoContainers: which of them would it be?
func TestABadVersionOfTwoContainers(t *testing.T) {
	w := newWorld(6, "w1")
	d := w.deployment()
	d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "sidecar"})
	_ = w.client.Tracker().Update(deployments, d, "ns")
	_, err := inject(t.Context(), BadRollout{Args: badArgs}, w.target())
	if want := "roll out a bad version of backend: its pods have 2 containers, want one"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestAPodHasRun(t *testing.T) {
	over := &corev1.ContainerStateTerminated{ExitCode: 3}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	for name, test := range map[string]struct {
		states []corev1.ContainerStatus
		want   bool
	}{
		"nobody knows":   {nil, false},
		"being created":  {[]corev1.ContainerStatus{{State: waiting}}, false},
		"runs":           {[]corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}, true},
		"has ended":      {[]corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: over}}}, true},
		"crashed before": {[]corev1.ContainerStatus{{State: waiting, LastTerminationState: corev1.ContainerState{Terminated: over}}}, true},
	} {
		if got := hasRun(corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: test.states}}); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
