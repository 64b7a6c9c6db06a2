package audit

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestNoSpread(t *testing.T) {
	none := workloads.Backend{Replicas: 3, Spread: workloads.NoSpread}
	apart := func(affinity workloads.Affinity) workloads.Backend {
		return workloads.Backend{Replicas: 3, Spread: workloads.NoSpread, Affinity: []workloads.Affinity{affinity}, Strategy: workloads.Strategy{MaxUnavailable: "1"}}
	}
	others := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
	oneZone := func(nodes []*corev1.Node) {
		for _, n := range nodes {
			delete(n.Labels, zoneKey)
		}
	}
	const evidence = "no spread constraint and no anti-affinity is about its 3 replicas, which happen to be on 3 nodes"
	caught(t, "no-spread",
		mutant{name: "luck", backend: none, on: []string{"a1", "b1", "c1"}, evidence: evidence},
		mutant{name: "a StatefulSet", backend: none, statefulSet: true, on: []string{"a1", "b1", "c1"}, evidence: evidence},
		mutant{name: "a constraint about other pods", backend: none, on: []string{"a1", "b1", "c1"}, evidence: evidence, harm: func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: hostKey, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: others}}
		}},
	)
	clean(t,
		mutant{name: "a constraint", backend: workloads.Backend{Replicas: 3}},
		mutant{name: "required anti-affinity", backend: apart(workloads.Affinity{Key: workloads.Host, Away: true}), on: []string{"a1", "b1", "c1"}},
		mutant{name: "preferred anti-affinity", backend: apart(workloads.Affinity{Key: workloads.Host, Away: true, Weight: 100}), on: []string{"a1", "b1", "c1"}},
	)
	for name, test := range map[string]struct {
		m    mutant
		want string
	}{
		"luck has run out":   {mutant{backend: none, on: []string{"a1"}}, "error one-node"},
		"and so in a zone":   {mutant{backend: none, on: []string{"a1", "a2"}}, "error one-zone"},
		"a single replica":   {mutant{backend: workloads.Backend{Replicas: 1, Spread: workloads.NoSpread}}, "error single-replica"},
		"there are no zones": {mutant{backend: none, on: []string{"a1", "b1"}, nodes: oneZone}, "warning no-spread"},
	} {
		w := newWorld(t, test.m)
		w.settle(test.m.on...)
		if r := w.audit(); len(r.Findings) != 1 || string(r.Findings[0].Severity)+" "+r.Findings[0].Rule != test.want {
			t.Errorf("%s: found %s, want %s", name, listed(r.Findings), test.want)
		}
	}
}
