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
	const before = `{"spec":{"template":{"spec":{"containers":[{"name":"server","args":["serve","--quiet"`
	want := []string{before + `,"--broken=hang"]}]}}}}`, before + `]}]}}}}`}
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
