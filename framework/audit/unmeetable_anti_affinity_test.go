package audit

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestUnmeetableAntiAffinity(t *testing.T) {
	apart := func(replicas int32, key string) workloads.Backend {
		return workloads.Backend{Replicas: replicas, Affinity: []workloads.Affinity{{Key: key, Away: true}}}
	}
	caught(t, "unmeetable-anti-affinity",
		mutant{
			name: "more pods than zones", backend: apart(4, workloads.Zone), on: []string{"a1", "b1", "c1", "a2"},
			evidence: "its 4 pods need as many domains of topology.kubernetes.io/zone, and 3 can take them",
			caution:  "where there is no other place; old pods keep new ones out of their domains, so rollouts may have 2 pods unavailable",
		},
		mutant{
			name: "a StatefulSet", backend: apart(7, workloads.Host), statefulSet: true, on: []string{"a1", "b1", "c1", "a2", "b2", "c2"},
			evidence: "its 7 pods need as many domains of kubernetes.io/hostname, and 6 can take them",
		},
		mutant{
			name: "no room to surge", backend: apart(6, workloads.Host),
			evidence: "a rollout starts a new pod while all 6 old ones are there, and only 6 domains of kubernetes.io/hostname can take them",
			caution:  "during a rollout it then runs one pod fewer",
		},
		mutant{
			name: "no room to surge by default: a quarter of three is none", backend: apart(3, workloads.Zone),
			harm:     func(d *appsv1.Deployment) { d.Spec.Strategy.RollingUpdate = aQuarter() },
			evidence: "a rollout starts a new pod while all 3 old ones are there, and only 3 domains of topology.kubernetes.io/zone can take them",
		},
		mutant{
			name: "a preference exists already", on: []string{"a1", "b1", "c1", "a2"},
			backend: workloads.Backend{Replicas: 4, Affinity: []workloads.Affinity{
				{Key: workloads.Host, Away: true, Weight: 1}, {Key: workloads.Zone, Away: true},
			}},
			evidence: "its 4 pods need as many domains of topology.kubernetes.io/zone, and 3 can take them",
		},
	)
	clean(t,
		mutant{name: "room to surge", backend: apart(5, workloads.Host)},
		mutant{name: "a StatefulSet does not surge", backend: apart(6, workloads.Host), statefulSet: true},
		mutant{
			name: "one may be out", backend: workloads.Backend{
				Affinity: []workloads.Affinity{{Key: workloads.Host, Away: true}}, Strategy: workloads.Strategy{MaxUnavailable: "1"},
			},
		},
		mutant{
			name:    "from other pods",
			backend: workloads.Backend{Affinity: []workloads.Affinity{{Key: workloads.Zone, Away: true, Selector: map[string]string{"app": "x"}}}},
			on:      []string{"a1", "b1", "c1", "a2", "b2", "c2"},
		},
		mutant{
			name: "a node without the label takes any number", backend: apart(9, "rack"),
			on: []string{"a1", "b1", "c1", "a2", "b2", "c2"},
			nodes: func(nodes []*corev1.Node) {
				for _, n := range nodes[2:7] {
					n.Labels["rack"] = "r1"
				}
			},
		},
	)
}

// aQuarter is the API server's default for a Deployment.
func aQuarter() *appsv1.RollingUpdateDeployment {
	quarter := intstr.FromString("25%")
	return &appsv1.RollingUpdateDeployment{MaxSurge: &quarter, MaxUnavailable: &quarter}
}
