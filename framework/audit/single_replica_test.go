package audit

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestSingleReplica(t *testing.T) {
	one := workloads.Backend{Replicas: 1}
	caught(t, singleReplica,
		mutant{name: "one", backend: one, evidence: "spec.replicas is 1", caution: "raise its minReplicas instead"},
		mutant{
			name: "not set, which means one", evidence: "spec.replicas is 1",
			harm: func(d *appsv1.Deployment) { d.Spec.Replicas = nil },
		},
		mutant{
			name: "a StatefulSet", backend: one, statefulSet: true, severity: Warning, evidence: "spec.replicas is 1",
			caution: "a second, empty database",
		},
		mutant{
			name: "with a volume", backend: one, evidence: "spec.replicas is 1", caution: "a volume that one node holds",
			harm: func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
				}}}
			},
		},
	)
}
