package fault

import (
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// filled is the filler as it was asked for.
func filled(t *testing.T, w *world) *corev1.Pod {
	t.Helper()
	pod, err := w.client.CoreV1().Pods("ns").Get(t.Context(), fillerName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// TestAFillerTakesWhatIsLeft: what others on the node ask for is theirs, unless they have ended; and nothing of the
// replica's own rules or probes is kept.
func TestAFillerTakesWhatIsLeft(t *testing.T) {
	w := newWorld(2, "w1")
	for name, phase := range map[string]corev1.PodPhase{"dns": corev1.PodRunning, "job": corev1.PodSucceeded, "crash": corev1.PodFailed} {
		err := w.client.Tracker().Add(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"},
			Spec:       corev1.PodSpec{NodeName: "w1", Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: cpu("100m")}}}},
			Status:     corev1.PodStatus{Phase: phase},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := inject(t.Context(), FillNode{}, w.target()); err != nil {
		t.Fatal(err)
	}
	pod := filled(t, w)
	c := pod.Spec.Containers[0]
	if got := c.Resources.Requests.Cpu().String(); got != "1890m" { // of 2, without 100m and 2 x 5m
		t.Errorf("it asks for %s", got)
	}
	if pod.Labels["app"] != "" || c.Image != "backend:1" || pod.Spec.NodeSelector[corev1.LabelHostname] != "w1" {
		t.Errorf("labels %v, image %s, node selector %v", pod.Labels, c.Image, pod.Spec.NodeSelector)
	}
}

// TestAFillerKeepsNothingThatCouldKeepItAway, nor anything that would delay its end.
func TestAFillerKeepsNothingThatCouldKeepItAway(t *testing.T) {
	like := corev1.PodSpec{
		NodeSelector: map[string]string{"pool": "a"}, Affinity: &corev1.Affinity{},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{TopologyKey: "zone"}},
		Containers:                []corev1.Container{{Lifecycle: &corev1.Lifecycle{}, ReadinessProbe: &corev1.Probe{}}, {Name: "another"}},
	}
	got := filler(like, "w1", resource.MustParse("3")).Spec
	c := got.Containers[0]
	if got.Affinity != nil || got.TopologySpreadConstraints != nil || len(got.NodeSelector) != 1 || len(got.Containers) != 1 ||
		c.Lifecycle != nil || c.ReadinessProbe != nil || *got.TerminationGracePeriodSeconds != 1 || c.Resources.Requests.Cpu().String() != "3" {
		t.Errorf("%+v", got)
	}
	if like.Containers[0].Lifecycle == nil || like.NodeSelector["pool"] != "a" {
		t.Errorf("the replica's own template was changed: %+v", like)
	}
}

// TestWhatCannotBeFilledIsAnError: a fault that would do nothing.
func TestWhatCannotBeFilledIsAnError(t *testing.T) {
	full := newWorld(2, "w1")
	if _, err := inject(t.Context(), FillNode{}, full.target()); err != nil {
		t.Fatal(err)
	}
	modest := newWorld(2, "w1")
	d := modest.deployment()
	d.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
	if err := modest.client.Tracker().Update(deployments, d, "ns"); err != nil {
		t.Fatal(err)
	}
	for want, w := range map[string]*world{
		"fill w1: node is full already, 0 of cpu are left":                   full,
		"fill w1: replicas of backend ask for no cpu, and fit on every node": modest,
	} {
		w.seen = nil
		heal, err := inject(t.Context(), FillNode{}, w.target())
		if err == nil || err.Error() != want || len(w.seen) != 0 || heal(t.Context()) != nil {
			t.Errorf("got %v, seen %q, want %s", err, w.seen, want)
		}
	}
}

// TestAFillerThatRunsIsNotEnough: the node must have no room left, as others see it.
func TestAFillerThatRunsIsNotEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2, "w1")
		w.shrink = "1" // the API server admits it with less than it asks for
		_, err := inject(t.Context(), FillNode{}, w.target())
		const want = "waited 1m0s for node w1 to be full: last seen the filler runs on w1: 990m of cpu are left, and a replica asks for 5m ("
		if err == nil || !strings.HasPrefix(err.Error(), want) || len(w.seen) != 0 {
			t.Errorf("got %v, seen %q, want %s", err, w.seen, want)
		}
	})
}

func TestCPUOf(t *testing.T) {
	of := func(amounts ...string) (list []corev1.Container) {
		for _, a := range amounts {
			list = append(list, corev1.Container{Resources: corev1.ResourceRequirements{Requests: cpu(a)}})
		}
		return list
	}
	for _, s := range []struct {
		spec corev1.PodSpec
		want string
	}{
		{corev1.PodSpec{}, "0"},
		{corev1.PodSpec{Containers: of("5m", "10m")}, "15m"},
		{corev1.PodSpec{Containers: of("5m", "10m"), InitContainers: of("1m", "14m")}, "15m"},
		{corev1.PodSpec{Containers: of("5m", "10m"), InitContainers: of("1m", "1")}, "1"},
		{corev1.PodSpec{Containers: of("5m"), Overhead: cpu("20m")}, "25m"},
	} {
		if got := cpuOf(s.spec); got.String() != s.want {
			t.Errorf("%+v: %s, want %s", s.spec, &got, s.want)
		}
	}
}
