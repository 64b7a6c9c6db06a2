package audit

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestRecreatesAllPods(t *testing.T) {
	recreate := func(more ...func(*corev1.PodSpec)) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
			for _, change := range more {
				change(&d.Spec.Template.Spec)
			}
		}
	}
	image := func(name string) func(*corev1.PodSpec) {
		return func(p *corev1.PodSpec) { p.Containers[0].Image = name }
	}
	volume := func(p *corev1.PodSpec) {
		p.Volumes = append(p.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}})
	}
	const evidence = "its strategy is Recreate, and Service backend sends requests to its pods"
	caught(t, "recreates-all-pods",
		mutant{name: "behind a Service", harm: recreate(), evidence: evidence, caution: "only if two revisions can run at the same time"},
		mutant{name: "paused", harm: func(d *appsv1.Deployment) { recreate()(d); d.Spec.Paused = true }, evidence: evidence, caution: "its rollout is paused"},
		mutant{name: "with a volume", harm: recreate(volume), severity: Note, steps: -1, evidence: evidence, caution: "with the same data"},
		mutant{name: "with a folder of its node", harm: recreate(hosted("/srv", false)), severity: Note, steps: -1, evidence: evidence, caution: "with the same data"},
		mutant{name: "that reads a folder of its node", harm: recreate(hosted("/srv", true)), evidence: evidence, caution: "only if two revisions can run at the same time"},
		mutant{name: "a database from a proxy", harm: recreate(image("docker-proxy.corp/library/postgres:16")), severity: Note, steps: -1, evidence: evidence},
		mutant{name: "a database", harm: recreate(image("docker.io/library/postgres:18")), severity: Note, steps: -1, evidence: evidence},
	)
	clean(t,
		mutant{name: "a StatefulSet", harm: recreate(), statefulSet: true},
		mutant{name: "no Service sends it requests", harm: func(d *appsv1.Deployment) { recreate()(d); unserved(d) }, backend: workloads.Backend{Budget: workloads.NoBudget}, more: []runtime.Object{everyPod}},
		mutant{name: "asked for metrics alone", harm: recreate(named("metrics")), service: leadsTo("metrics")},
	)
}
