package audit

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestUnusableDomain(t *testing.T) {
	ignore := corev1.NodeInclusionPolicyIgnore
	soft := workloads.Spread{Key: workloads.Host, Unsatisfiable: corev1.ScheduleAnyway}
	// on any node whose taints allow it
	anywhere := func(d *appsv1.Deployment) { d.Spec.Template.Spec.NodeSelector = nil }
	atEdge := func(nodes []*corev1.Node) { nodes[0].Labels[zoneKey], nodes[1].Labels[zoneKey] = "edge", "edge" }
	spread := func(replicas int32, s workloads.Spread) workloads.Backend {
		return workloads.Backend{Replicas: replicas, Spread: []workloads.Spread{s, soft}}
	}
	const edge = "of topology.kubernetes.io/zone, edge can take none of its pods (cp is tainted node-role.kubernetes.io/control-plane " +
		"and load is tainted holdfast.dev/role): the others may have "
	caught(t, "unusable-domain",
		mutant{
			name: "room so far", harm: anywhere, nodes: atEdge,
			backend:  spread(3, workloads.Spread{Key: workloads.Zone, NodeTaintsPolicy: ignore}),
			evidence: edge + "3 pods together, and it wants 3",
		},
		mutant{
			name: "no room", harm: anywhere, nodes: atEdge, severity: Error, on: []string{"a1", "b1", "c1", "a2", "b2", "c2"},
			backend:  spread(6, workloads.Spread{Key: workloads.Zone, NodeTaintsPolicy: ignore}),
			evidence: edge + "3 pods together, and it wants 6",
		},
		mutant{
			name: "a policy that is not set", nodes: atEdge, backend: spread(3, workloads.Spread{Key: workloads.Zone, MaxSkew: 2}),
			on: []string{"a1", "b1", "c1"},
			harm: func(d *appsv1.Deployment) {
				anywhere(d)
				d.Spec.Template.Spec.TopologySpreadConstraints[0].NodeTaintsPolicy = nil
			},
			evidence: edge + "6 pods together, and it wants 3",
		},
		mutant{
			name: "nodes that it does not select", nodes: atEdge, statefulSet: true,
			backend:  spread(3, workloads.Spread{Key: workloads.Zone, NodeAffinityPolicy: ignore, NodeTaintsPolicy: ignore}),
			evidence: edge + "3 pods together, and it wants 3",
		},
	)
	clean(t,
		mutant{
			name: "a zone with workers in it", harm: anywhere,
			backend: spread(3, workloads.Spread{Key: workloads.Zone, NodeTaintsPolicy: ignore}),
		},
		mutant{
			name: "nodes without the label are not counted", harm: anywhere,
			nodes:   func(nodes []*corev1.Node) { delete(nodes[0].Labels, zoneKey); delete(nodes[1].Labels, zoneKey) },
			backend: spread(3, workloads.Spread{Key: workloads.Zone, NodeTaintsPolicy: ignore}),
		},
		mutant{
			name: "it tolerates them", nodes: atEdge, on: []string{"a1", "b1", "c1"},
			backend: spread(3, workloads.Spread{Key: workloads.Zone, NodeTaintsPolicy: ignore}),
			harm: func(d *appsv1.Deployment) {
				anywhere(d)
				d.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			},
		},
		mutant{
			name: "temporary taints", backend: spread(3, workloads.Spread{Key: workloads.Zone, NodeTaintsPolicy: ignore}), on: []string{"a1", "b1", "c1"},
			nodes: func(nodes []*corev1.Node) {
				for _, n := range nodes[6:] {
					n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}}
				}
			},
		},
		mutant{
			name: "a soft constraint", harm: anywhere, nodes: atEdge,
			backend: spread(3, workloads.Spread{Key: workloads.Zone, NodeTaintsPolicy: ignore, Unsatisfiable: corev1.ScheduleAnyway}),
			on:      []string{"a1", "b1", "c1"},
		},
	)
}
