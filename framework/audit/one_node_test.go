package audit

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestOneNode(t *testing.T) {
	together := workloads.Backend{Spread: workloads.NoSpread, Affinity: []workloads.Affinity{{Key: workloads.Host}}}
	noZones := func(nodes []*corev1.Node) {
		for _, n := range nodes {
			n.Labels[zoneKey] = "a"
		}
	}
	const all = "all 6 placed pods are on node a1"
	caught(t, "one-node",
		mutant{name: "nothing spreads them", backend: workloads.Backend{Spread: workloads.NoSpread}, evidence: all},
		mutant{name: "drawn together", backend: together, evidence: all},
		mutant{
			name: "a StatefulSet", statefulSet: true, backend: workloads.Backend{Replicas: 2, Spread: workloads.NoSpread},
			evidence: "all 2 placed pods are on node a1", caution: "pods stay Pending instead of crowding",
		},
		mutant{
			name: "a loose constraint", backend: workloads.Backend{Spread: []workloads.Spread{{Key: workloads.Zone, MaxSkew: 6}}},
			evidence: all,
		},
		mutant{
			name:    "a constraint that counts other pods",
			backend: workloads.Backend{Spread: []workloads.Spread{{Key: workloads.Zone, Selector: map[string]string{"app": "other"}}}},
			on:      []string{"a1"}, evidence: all,
		},
		mutant{
			name: "placed when there was no other node", on: []string{"b2"}, evidence: "all 6 placed pods are on node b2",
			backend: workloads.Backend{Spread: []workloads.Spread{{Key: workloads.Zone}, {Key: workloads.Host}}},
			caution: "its constraints forbid this already",
		},
		mutant{
			name: "by hand", backend: workloads.Backend{Spread: workloads.NoSpread}, evidence: all,
			harm: func(d *appsv1.Deployment) { d.Spec.Paused = true }, caution: "kubectl rollout resume",
		},
		mutant{
			name: "pinned", backend: workloads.Backend{OnNode: "c1"}, evidence: "all 6 placed pods are on node c1",
			caution: "no other node can take its pods", steps: -1,
		},
	)
	// With one zone only, pods can only be spread over nodes, and the rule one-zone reports a Note.
	w := newWorld(t, mutant{backend: workloads.Backend{Spread: workloads.NoSpread}, nodes: noZones})
	w.settle()
	r := w.audit()
	if len(r.Findings) != 1 || r.Findings[0].Rule != "one-node" {
		t.Fatalf("found %s", listed(r.Findings))
	}
	w.typed(r.Findings[0].Fix[0])
	w.settle()
	if r = w.audit(); len(r.Findings) != 1 || r.Findings[0].Rule != "one-zone" || r.Findings[0].Severity != Note {
		t.Errorf("after its patch: found %s", listed(r.Findings))
	}
}
