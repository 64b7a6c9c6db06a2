package audit

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestNoRoomToSurge(t *testing.T) {
	onPort := func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}
	}
	caught(t, "no-room-to-surge", mutant{
		name: "a pod on each node", backend: workloads.Backend{Replicas: 6}, harm: onPort,
		evidence: "a rollout starts a new pod while all 6 old ones are there, and port 8080 of each of 6 nodes is taken",
		caution:  "during a rollout it then runs one pod fewer",
	})
	clean(t,
		mutant{name: "a node is free", backend: workloads.Backend{Replicas: 5}, harm: onPort},
		mutant{name: "a port of the pod alone", backend: workloads.Backend{Replicas: 6}},
		mutant{name: "one may be out", backend: workloads.Backend{Replicas: 6, Strategy: workloads.Strategy{MaxUnavailable: "1"}}, harm: onPort},
	)
}
