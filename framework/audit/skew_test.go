package audit

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/workloads"
)

func (w *world) read() Cluster {
	w.Helper()
	c, err := Read(w.ctx, w.client, Scope{})
	w.must(err)
	return c
}

func TestSkews(t *testing.T) {
	softZone := workloads.Spread{Key: workloads.Zone, Unsatisfiable: corev1.ScheduleAnyway}
	cordon := func(nodes []*corev1.Node) { nodes[7].Spec.Unschedulable = true }
	for _, test := range []struct {
		name string
		mutant
		want []string
	}{
		{"good practice, evenly", mutant{}, []string{
			"kubernetes.io/hostname soft: 0 of 1, a1:1 a2:1 b1:1 b2:1 c1:1 c2:1, 0 empty", "topology.kubernetes.io/zone hard: 0 of 1, a:2 b:2 c:2, 0 empty",
		}},
		{"a soft constraint, unevenly", mutant{backend: workloads.Backend{Spread: []workloads.Spread{softZone}}, on: []string{"a1", "a2", "a1", "a2", "b1", "b1"}}, []string{
			"topology.kubernetes.io/zone soft: 4 of 1, a:4 b:2, 1 empty", "kubernetes.io/hostname none: 2 of 0, a1:2 a2:2 b1:2, 3 empty",
		}},
		{"no constraint", mutant{backend: workloads.Backend{Spread: workloads.NoSpread}, on: []string{"a1", "a1", "b1"}}, []string{
			"kubernetes.io/hostname none: 4 of 0, a1:4 b1:2, 4 empty", "topology.kubernetes.io/zone none: 4 of 0, a:4 b:2, 1 empty",
		}},
		{"an empty node that takes no pods does not count", mutant{backend: workloads.Backend{Spread: workloads.NoSpread}, nodes: cordon, on: []string{"a1", "a2", "b1", "b2", "c1"}}, []string{
			"topology.kubernetes.io/zone none: 2 of 0, a:3 b:2 c:1, 0 empty", "kubernetes.io/hostname none: 1 of 0, a1:2 a2:1 b1:1 b2:1 c1:1, 0 empty",
		}},
		{"a node with pods counts, although it takes no more", mutant{backend: workloads.Backend{Spread: workloads.NoSpread}, nodes: cordon, on: []string{"c2"}}, []string{
			"kubernetes.io/hostname none: 6 of 0, c2:6, 5 empty", "topology.kubernetes.io/zone none: 6 of 0, c:6, 2 empty",
		}},
		{"a constraint that counts other pods is not its own", mutant{
			backend: workloads.Backend{Spread: []workloads.Spread{{Key: workloads.Zone, Unsatisfiable: corev1.ScheduleAnyway, Selector: map[string]string{"app": "x"}}}}, on: []string{"a1", "b1", "c1"},
		}, []string{
			"kubernetes.io/hostname none: 2 of 0, a1:2 b1:2 c1:2, 3 empty", "topology.kubernetes.io/zone none: 0 of 0, a:2 b:2 c:2, 0 empty",
		}},
		{"a StatefulSet", mutant{statefulSet: true, backend: workloads.Backend{Replicas: 3}}, []string{
			"kubernetes.io/hostname soft: 1 of 1, a1:1 b1:1 c1:1, 3 empty", "topology.kubernetes.io/zone hard: 0 of 1, a:1 b:1 c:1, 0 empty",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, test.mutant)
			w.settle(test.on...)
			var got []string
			for _, k := range Skews(w.read()) {
				pods := fmt.Sprint(k.Pods)
				got = append(got, fmt.Sprintf("%s %s: %d of %d, %s, %d empty", k.TopologyKey, k.Constraint, k.Skew, k.Allowed, pods[4:len(pods)-1], k.Empty))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("skews (-want +got):\n%s", diff)
			}
		})
	}
}

// The rule about soft constraints and the skews agree, on every mutant of the rule's own kind.
func TestSkewsAgreeWithTheRule(t *testing.T) {
	softZone := workloads.Spread{Key: workloads.Zone, Unsatisfiable: corev1.ScheduleAnyway}
	for i, on := range [][]string{{"a1"}, {"a1", "b1"}, {"a1", "b1", "c1"}, {"a1", "a2", "b1", "b2", "c1", "c2"}, {"a1", "a1", "b1", "c1"}} {
		w := newWorld(t, mutant{backend: workloads.Backend{Spread: []workloads.Spread{softZone}}})
		w.settle(on...)
		c := w.read()
		exceeded, found := false, false
		for _, k := range Skews(c) {
			exceeded = exceeded || k.Constraint == Soft && k.Skew > k.Allowed
		}
		for _, f := range Audit(c, Options{}).Findings {
			found = found || f.Rule == "soft-constraint-violated"
		}
		if exceeded != found {
			t.Errorf("%d: on %v, exceeded %v, found %v", i, on, exceeded, found)
		}
	}
}

// Where pods or nodes are not known, there is no skew: a number would be wrong.
func TestNoSkewWithoutSight(t *testing.T) {
	for _, resource := range []Resource{Pods, Nodes, ReplicaSets} {
		w := newWorld(t, mutant{})
		w.settle("a1")
		c := w.read()
		c.Unread = append(c.Unread, Unread{Resource: resource})
		if all := Skews(c); len(all) > 0 {
			t.Errorf("without %s: %+v", resource, all)
		}
		if all := PendingOnConstraints(c); len(all) > 0 {
			t.Errorf("without %s: %+v", resource, all)
		}
	}
}
