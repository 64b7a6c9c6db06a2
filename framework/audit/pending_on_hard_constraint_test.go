package audit

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestPendingOnHardConstraint(t *testing.T) {
	spread := func(s ...workloads.Spread) workloads.Backend { return workloads.Backend{Spread: s} }
	host := workloads.Spread{Key: workloads.Host, Unsatisfiable: corev1.ScheduleAnyway}
	zonesOf := func(last string) func([]*corev1.Node) {
		return func(nodes []*corev1.Node) {
			for _, n := range nodes[6:] {
				n.Labels["rack"] = last
				n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}}
			}
		}
	}
	caught(t, "pending-on-hard-constraint",
		mutant{
			name: "minDomains exceeds the domains that exist", backend: spread(workloads.Spread{Key: workloads.Zone, MinDomains: 4}, host),
			evidence: "3 of 6 pods Pending, the first for 12m0s; the scheduler says: 0/8 nodes are available: " +
				"1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't match pod topology spread constraints.",
			caution: "the constraint counted domains that its pods cannot go to",
		},
		mutant{
			name: "a StatefulSet's pod is replaced by hand", statefulSet: true, steps: 4,
			backend: spread(workloads.Spread{Key: workloads.Zone, MinDomains: 4}, host),
			evidence: "3 of 6 pods Pending, the first for 12m0s; the scheduler says: 0/8 nodes are available: " +
				"1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't match pod topology spread constraints.",
		},
		mutant{
			name: "a zone that exists and is unreachable", nodes: zonesOf("c"),
			backend: spread(workloads.Spread{Key: workloads.Zone, NodeTaintsPolicy: corev1.NodeInclusionPolicyIgnore}, host),
			evidence: "4 of 6 pods Pending, the first for 12m0s; the scheduler says: 0/8 nodes are available: " +
				"1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't match pod topology spread constraints, " +
				"1 node(s) had untolerated taint.",
			caution: "this makes the constraint over topology.kubernetes.io/zone soft; better make room in topology.kubernetes.io/zone c",
		},
		mutant{
			name: "nowhere near others", backend: workloads.Backend{Affinity: []workloads.Affinity{{Key: workloads.Zone, Selector: map[string]string{"app": "cache"}}}},
			evidence: "6 of 6 pods Pending, the first for 12m0s; the scheduler says: 0/8 nodes are available: " +
				"1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't match pod affinity rules.",
			caution: "this makes it a preference",
		},
		mutant{
			name: "no such node", backend: workloads.Backend{NodeSelector: map[string]string{"disk": "fast"}}, steps: -1,
			evidence: "6 of 6 pods Pending, the first for 12m0s; the scheduler says: 0/8 nodes are available: " +
				"1 node(s) didn't match Pod's node affinity/selector.",
			caution: "no node has the labels that its node selector or affinity requires",
		},
		mutant{
			name: "a label that no node has", backend: spread(workloads.Spread{Key: "rack"}, workloads.Spread{Key: workloads.Zone}), steps: -1,
			evidence: "6 of 6 pods Pending, the first for 12m0s; the scheduler says: 0/8 nodes are available: " +
				"1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't match pod topology spread constraints.",
			caution: "no node that takes its pods carries the label rack",
		},
	)
}

// Anti-affinity that cannot be met has a rule of its own. If it could be met but is not, this rule reports the pending pods.
func TestPendingApart(t *testing.T) {
	w := newWorld(t, mutant{
		backend: workloads.Backend{Affinity: []workloads.Affinity{{Key: workloads.Host, Away: true}}, Strategy: workloads.Strategy{MaxUnavailable: "1"}},
		nodes: func(nodes []*corev1.Node) {
			nodes[7].Spec.Unschedulable = true // cordoned: it counts as a node that will take pods again
		},
	})
	w.settle()
	r := w.audit()
	if len(r.Findings) != 1 || r.Findings[0].Rule != "pending-on-hard-constraint" {
		t.Fatalf("found %s", listed(r.Findings))
	}
	w.typed(r.Findings[0].Fix[0])
	w.settle()
	if r = w.audit(); len(r.Findings) > 0 {
		t.Errorf("after its patch: found %s", listed(r.Findings))
	}
}

// Pods that are pending only briefly, or not because of a constraint, are no finding of this rule.
func TestPendingForOtherReasons(t *testing.T) {
	for _, test := range []struct {
		name, message string
		age           time.Duration
		deleting      bool
		want          int
	}{
		{"long enough", "0/8 nodes are available: 8 node(s) didn't match pod topology spread constraints.", PendingLimit + time.Second, false, 1},
		{"not yet", "0/8 nodes are available: 8 node(s) didn't match pod topology spread constraints.", PendingLimit, false, 0},
		{"going", "0/8 nodes are available: 8 node(s) didn't match pod topology spread constraints.", time.Hour, true, 0},
		{"full", "0/8 nodes are available: 2 node(s) didn't match Pod's node affinity/selector, 6 Insufficient cpu.", time.Hour, false, 0},
		{"kept away by others", "0/8 nodes are available: 8 node(s) didn't satisfy existing pods anti-affinity rules.", time.Hour, false, 1},
	} {
		now := time.Now()
		p := Pod{Name: "backend-0", Unschedulable: now.Add(-test.age), Said: test.message, Going: test.deleting}
		c := Cluster{Taken: now, Workloads: []Workload{{Kind: Deployment, Namespace: shop, Name: "backend", Replicas: 2, Pods: []Pod{p}}}}
		for _, n := range fleet() {
			c.Nodes = append(c.Nodes, *n)
		}
		var got []Finding
		for _, f := range Audit(c, Options{}).Findings {
			if f.Rule == "pending-on-hard-constraint" {
				got = append(got, f)
			}
		}
		if len(got) != test.want {
			t.Errorf("%s: found %s", test.name, listed(got))
		}
		for _, f := range got { // its template has no constraint that could be patched
			if len(f.Fix) > 0 || !strings.Contains(f.Evidence, test.message) || f.Caution == "" {
				t.Errorf("%s: %+v", test.name, f)
			}
		}
	}
}
