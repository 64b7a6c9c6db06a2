package audit

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestLivenessAsksReadiness(t *testing.T) {
	// live gives the backend a liveness probe that is its readiness probe, with changes.
	live := func(change ...func(ready, live *corev1.Probe)) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			c := &d.Spec.Template.Spec.Containers[0]
			c.ReadinessProbe.PeriodSeconds, c.ReadinessProbe.FailureThreshold = 2, 5
			c.LivenessProbe = c.ReadinessProbe.DeepCopy()
			for _, f := range change {
				f(c.ReadinessProbe, c.LivenessProbe)
			}
		}
	}
	fails := func(seconds, times int32) func(_, live *corev1.Probe) {
		return func(_, live *corev1.Probe) { live.PeriodSeconds, live.FailureThreshold = seconds, times }
	}
	defaults := func(ready, live *corev1.Probe) {
		ready.PeriodSeconds, ready.FailureThreshold, live.PeriodSeconds, live.FailureThreshold = 0, 0, 0, 0
	}
	const begins, middle, ends = "container backend, which Service backend sends requests to, is restarted after ", " s without a good answer, and is not ready after ", " s without the same answer"
	caught(t, "liveness-asks-readiness",
		mutant{name: "in the same time", harm: live(), severity: Note, evidence: begins + "10" + middle + "10" + ends},
		mutant{name: "sooner", harm: live(fails(1, 1)), severity: Note, evidence: begins + "1" + middle + "10" + ends},
		mutant{name: "by default", statefulSet: true, harm: live(defaults), severity: Note, evidence: begins + "30" + middle + "30" + ends},
	)
	clean(t,
		mutant{name: "later", harm: live(fails(2, 6))},
		mutant{name: "something else", harm: live(func(_, live *corev1.Probe) {
			live.ProbeHandler = corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/alive", Port: live.HTTPGet.Port}}
		})},
		mutant{name: "no Service sends it requests", harm: func(d *appsv1.Deployment) { live()(d); unserved(d) }, backend: workloads.Backend{Budget: workloads.NoBudget}, more: []runtime.Object{everyPod}},
		mutant{name: "asked for metrics alone", harm: func(d *appsv1.Deployment) { live()(d); named("metrics")(&d.Spec.Template.Spec) }, service: leadsTo("metrics")},
	)
}
