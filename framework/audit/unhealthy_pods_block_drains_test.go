package audit

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestUnhealthyPodsBlockDrains(t *testing.T) {
	const evidence = "budget backend has no unhealthyPodEvictionPolicy AlwaysAllow"
	ifHealthy := workloads.Backend{Budget: workloads.Budget{UnhealthyPodEvictionPolicy: policyv1.IfHealthyBudget}}
	caught(t, "unhealthy-pods-block-drains",
		mutant{name: "not set", budget: func(b *policyv1.PodDisruptionBudget) { b.Spec.UnhealthyPodEvictionPolicy = nil }, evidence: evidence, caution: "Kubernetes 1.27"},
		mutant{name: "the default", backend: ifHealthy, evidence: evidence},
		mutant{name: "of a StatefulSet", backend: ifHealthy, statefulSet: true, evidence: evidence},
	)
	clean(t, mutant{name: "set", backend: workloads.Backend{Budget: workloads.Budget{UnhealthyPodEvictionPolicy: policyv1.AlwaysAllow}}})
}
