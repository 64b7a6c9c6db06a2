package observe

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/history"
)

func TestPodLifecycle(t *testing.T) {
	container := func(probed bool, sleeps int64) corev1.Container {
		var c corev1.Container
		if probed {
			c.ReadinessProbe = &corev1.Probe{}
		}
		if sleeps > 0 {
			c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: sleeps}}}
		}
		return c
	}
	grace := int64(12)
	for name, test := range map[string]struct {
		spec corev1.PodSpec
		want history.Lifecycle
	}{
		"empty spec": {corev1.PodSpec{Containers: []corev1.Container{container(false, 0)}}, history.Lifecycle{}},
		"full spec": {
			corev1.PodSpec{Containers: []corev1.Container{container(true, 3)}, TerminationGracePeriodSeconds: &grace},
			history.Lifecycle{Readiness: true, PreStop: 3 * time.Second, Grace: 12 * time.Second},
		},
		"one of two has no probe, and sleeps longer": {
			corev1.PodSpec{Containers: []corev1.Container{container(true, 3), container(false, 5)}},
			history.Lifecycle{PreStop: 5 * time.Second},
		},
		"a command of unknown duration": {
			corev1.PodSpec{Containers: []corev1.Container{{Lifecycle: &corev1.Lifecycle{
				PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "3"}}},
			}}}},
			history.Lifecycle{},
		},
	} {
		pod := &corev1.Pod{ObjectMeta: named("p"), Spec: test.spec}
		same(t, name, podEvent(pod, history.Added).Pod.Lifecycle, &test.want)
		if told := podEvent(pod, history.Modified).Pod.Lifecycle; told != nil {
			t.Errorf("%s: repeated: %+v", name, told)
		}
	}
}
