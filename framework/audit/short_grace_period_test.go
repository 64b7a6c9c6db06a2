package audit

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestShortGracePeriod(t *testing.T) {
	hook := func(grace int64, preStop corev1.LifecycleHandler) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.TerminationGracePeriodSeconds = &grace
			d.Spec.Template.Spec.Containers[0].Lifecycle.PreStop = &preStop
		}
	}
	sleep := func(seconds int64) corev1.LifecycleHandler {
		return corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: seconds}}
	}
	exec := func(words ...string) corev1.LifecycleHandler {
		return corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: words}}
	}
	caught(t, "short-grace-period",
		mutant{
			name: "all of it", harm: hook(10, sleep(10)),
			evidence: "container backend sleeps 10 s in preStop, and terminationGracePeriodSeconds is 10",
		},
		mutant{
			name: "a shell's sleep", statefulSet: true, harm: hook(30, exec("sh", "-c", "nginx -s quit; sleep 45 && exit")),
			evidence: "container backend sleeps 45 s in preStop, and terminationGracePeriodSeconds is 30",
		},
		mutant{
			name: "the default grace period", evidence: "container backend sleeps 30 s in preStop, and terminationGracePeriodSeconds is 30",
			harm: func(d *appsv1.Deployment) {
				hook(0, exec("/bin/sleep", "30"))(d)
				d.Spec.Template.Spec.TerminationGracePeriodSeconds = nil
			},
		},
	)
	clean(t,
		mutant{name: "some of it", harm: hook(11, sleep(10))},
		mutant{name: "a hook of unknown duration", harm: hook(5, exec("wait-for-quiet"))},
		mutant{name: "another program", harm: hook(5, exec("usleep", "1000"))},
		mutant{name: "minutes are left alone", harm: hook(5, exec("sleep", "1m"))},
		mutant{name: "an HTTP hook", harm: hook(5, corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/drain"}}), backend: workloads.Backend{}},
	)
}
