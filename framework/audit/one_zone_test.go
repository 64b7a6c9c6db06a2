package audit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestOneZone(t *testing.T) {
	hosts := workloads.Backend{Spread: []workloads.Spread{{Key: workloads.Host, MaxSkew: 3}}}
	inZone := func(zone string, roles ...string) func([]*corev1.Node) {
		return func(nodes []*corev1.Node) {
			for _, n := range nodes {
				for _, role := range roles {
					if n.Labels["holdfast.dev/role"] == role {
						n.Labels[zoneKey] = zone
					}
				}
			}
		}
	}
	caught(t, "one-zone",
		mutant{
			name: "spread over nodes only", backend: hosts, on: []string{"b1", "b2"},
			evidence: "all 6 placed pods are in zone b, on 2 nodes", caution: "where a zone or node has no room",
		},
		mutant{
			name: "it selects the zone", on: []string{"b1", "b2"}, steps: -1,
			backend:  workloads.Backend{NodeSelector: map[string]string{workloads.Zone: "b"}},
			evidence: "all 6 placed pods are in zone b, on 2 nodes", caution: "admits no node of the other zones (a and c)",
		},
		mutant{
			name: "the only zone with workers", nodes: inZone("b", "worker"), severity: Note, steps: -1,
			backend:  workloads.Backend{},
			evidence: "all 6 placed pods are in zone b, on 6 nodes", caution: "add some",
		},
	)
}

// Nodes without a zone label cannot be judged, and the report says so.
func TestZonesWithoutLabels(t *testing.T) {
	w := newWorld(t, mutant{
		backend: workloads.Backend{Spread: []workloads.Spread{{Key: workloads.Host}}},
		nodes: func(nodes []*corev1.Node) {
			for _, n := range nodes {
				delete(n.Labels, zoneKey)
			}
		},
	})
	w.settle()
	r := w.audit()
	if len(r.Findings) > 0 || len(r.NotChecked) != 1 {
		t.Fatalf("found %s, not checked %+v", listed(r.Findings), r.NotChecked)
	}
	want := "nodes a1, a2, b1, b2, c1 and c2 carry no label topology.kubernetes.io/zone, so zones cannot be told apart; " +
		"label them, or leave the rule out"
	if n := r.NotChecked[0]; n.Why != want || n.Where() != "shop/Deployment/backend" || len(n.Rules) != 1 || n.Rules[0] != "one-zone" {
		t.Errorf("not checked: %+v", n)
	}
}
