package audit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestSoftConstraintViolated(t *testing.T) {
	softZone := workloads.Spread{Key: workloads.Zone, Unsatisfiable: corev1.ScheduleAnyway}
	softHost := workloads.Spread{Key: workloads.Host, Unsatisfiable: corev1.ScheduleAnyway}
	apart := []workloads.Affinity{{Key: workloads.Host, Away: true, Weight: 100}}
	crowdedNodes := []string{"a1", "b1", "c1", "a1", "b1", "c1"}
	const byNode = "a1 has 2, a2 has 0, b1 has 2, b2 has 0, c1 has 2 and c2 has 0"
	caught(t, "soft-constraint-violated",
		mutant{
			name: "zones", backend: workloads.Backend{Spread: []workloads.Spread{softZone}}, on: []string{"a1", "a2", "a1", "a2", "b1", "c1"},
			evidence: "the skew over topology.kubernetes.io/zone is 3, and 1 is preferred: a has 4, b has 1 and c has 1",
			caution:  "this makes the preference a hard constraint",
		},
		mutant{
			name: "nodes", on: crowdedNodes,
			evidence: "the skew over kubernetes.io/hostname is 2, and 1 is preferred: " + byNode,
		},
		mutant{
			name: "nodes of a StatefulSet", on: crowdedNodes, statefulSet: true,
			evidence: "the skew over kubernetes.io/hostname is 2, and 1 is preferred: " + byNode,
		},
		mutant{
			name: "a preference to be apart", on: crowdedNodes,
			backend:  workloads.Backend{Spread: []workloads.Spread{{Key: workloads.Zone}}, Affinity: apart},
			evidence: "pods that prefer to be apart share kubernetes.io/hostname while others are empty: " + byNode,
		},
		mutant{
			name: "both", on: crowdedNodes, backend: workloads.Backend{Affinity: apart},
			evidence: "the skew over kubernetes.io/hostname is 2, and 1 is preferred: " + byNode +
				"; pods that prefer to be apart share kubernetes.io/hostname while others are empty: " + byNode,
		},
		mutant{
			name: "the same as a hard constraint too, which came after the pods", on: []string{"a1", "a2", "a1", "a2", "b1", "c1"},
			backend:  workloads.Backend{Spread: []workloads.Spread{softZone, {Key: workloads.Zone}}},
			evidence: "the skew over topology.kubernetes.io/zone is 3, and 1 is preferred: a has 4, b has 1 and c has 1",
			caution:  "a hard constraint requires it already",
		},
	)
	clean(t,
		mutant{name: "as preferred", backend: workloads.Backend{Spread: []workloads.Spread{softZone, softHost}}},
		mutant{
			name: "zones with nodes of unequal number force it", backend: workloads.Backend{Spread: []workloads.Spread{{Key: workloads.Zone}, softHost}},
			nodes: func(nodes []*corev1.Node) { nodes[7].Labels["holdfast.dev/role"] = "retired" }, // zone c has c1 alone
			on:    []string{"a1", "b1", "c1", "a1", "b1", "c1"},
		},
		mutant{
			name: "an empty node that is cordoned", backend: workloads.Backend{Replicas: 5, Spread: []workloads.Spread{{Key: workloads.Zone}, softHost}},
			nodes: func(nodes []*corev1.Node) { nodes[3].Spec.Unschedulable = true },
			on:    []string{"a1", "b1", "c1", "b2", "c2"},
		},
		mutant{
			name: "more pods than nodes, which prefer to be apart", backend: workloads.Backend{Replicas: 9, Affinity: apart},
		},
	)
}

// During a rollout, a constraint with pod-template-hash in matchLabelKeys is judged on the pods of one revision.
func TestSoftConstraintInARollout(t *testing.T) {
	s := subject{Workload: &Workload{}}
	pod := func(revision string, going bool) Pod {
		return Pod{Labels: map[string]string{revisionKey: revision}, Node: "a1", Going: going}
	}
	s.Pods = []Pod{pod("1", false), pod("2", false), pod("2", false), pod("1", true), pod("1", true)}
	if got := s.largest([]string{revisionKey}); len(got) != 2 || got[0].Labels[revisionKey] != "2" {
		t.Errorf("judged are %d pods, want the 2 of revision 2", len(got))
	}
	if got := s.largest(nil); len(got) != 3 {
		t.Errorf("without matchLabelKeys judged are %d pods, want all 3 that stay", len(got))
	}
}
