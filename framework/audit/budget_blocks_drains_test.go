package audit

import (
	"fmt"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestBudgetBlocksDrains(t *testing.T) {
	with := func(b workloads.Budget) workloads.Backend { return workloads.Backend{Budget: b} }
	own := &metav1.LabelSelector{MatchLabels: map[string]string{workloads.LabelName: "backend"}}
	caught(t, "budget-blocks-drains",
		mutant{
			name: "none may be out", backend: with(workloads.Budget{MaxUnavailable: "0"}),
			evidence: "budget backend demands maxUnavailable 0 and covers 6 pods, so none can ever be evicted",
		},
		mutant{
			name: "as many as there are", backend: with(workloads.Budget{MinAvailable: "6"}),
			evidence: "budget backend demands minAvailable 6 and covers 6 pods, so none can ever be evicted",
		},
		mutant{
			name: "a share that is rounded up", backend: with(workloads.Budget{MinAvailable: "84%"}),
			evidence: "budget backend demands minAvailable 84% and covers 6 pods, so none can ever be evicted",
		},
		mutant{
			name: "more than there are", backend: with(workloads.Budget{MinAvailable: "9"}),
			evidence: "budget backend demands minAvailable 9 and covers 6 pods, so none can ever be evicted",
		},
		mutant{
			name: "two budgets", more: []runtime.Object{budget(shop, "extra", own), budget(shop, "one-more", own)}, steps: 2,
			evidence: "3 budgets cover its pods (backend, extra and one-more), and the API evicts no pod that more than one covers",
		},
	)
	const scaled = "budget backend demands minAvailable %s, so none can be evicted while HorizontalPodAutoscaler scaler leaves %s"
	caught(t, "budget-blocks-drains",
		mutant{name: "as many as an autoscaler leaves", backend: with(workloads.Budget{MinAvailable: "2"}), more: scaler(Deployment, "backend", 2, 9), severity: Warning, evidence: fmt.Sprintf(scaled, "2", "2 pods")},
		mutant{name: "more than an autoscaler leaves", backend: with(workloads.Budget{MinAvailable: "4"}), more: scaler(Deployment, "backend", 3, 9), severity: Warning, evidence: fmt.Sprintf(scaled, "4", "3 pods")},
		mutant{name: "a share of them, rounded up", backend: with(workloads.Budget{MinAvailable: "67%"}), more: scaler(Deployment, "backend", 2, 9), severity: Warning, evidence: fmt.Sprintf(scaled, "67%", "2 pods")},
	)
	clean(t,
		mutant{name: "one less than an autoscaler leaves", backend: with(workloads.Budget{MinAvailable: "2"}), more: scaler(Deployment, "backend", 3, 9)},
		mutant{name: "an autoscaler of another workload", backend: with(workloads.Budget{MinAvailable: "2"}), more: scaler(Deployment, "front", 2, 9)},
		mutant{name: "one that may be away, of the fewest", backend: with(workloads.Budget{MaxUnavailable: "1"}), more: scaler(Deployment, "backend", 2, 9)},
		mutant{name: "a share that leaves one", backend: with(workloads.Budget{MinAvailable: "83%"})},
		mutant{name: "a share of one, rounded up", backend: with(workloads.Budget{MaxUnavailable: "1%"})},
		mutant{
			name:    "a budget that covers pods of others too, as its status says",
			backend: with(workloads.Budget{MinAvailable: "6"}),
			budget:  func(b *policyv1.PodDisruptionBudget) { b.Status.ExpectedPods = 8 },
		},
	)
}

// The node of a single replica can be drained only at the price of an outage: the budget and the number of replicas are two
// findings.
func TestBudgetOfASingleReplica(t *testing.T) {
	w := newWorld(t, mutant{backend: workloads.Backend{Replicas: 1, Budget: workloads.Budget{MinAvailable: "1"}}})
	w.settle()
	r := w.audit()
	if len(r.Findings) != 2 || r.Findings[0].Rule != "single-replica" || r.Findings[1].Rule != "budget-blocks-drains" {
		t.Fatalf("found %s", listed(r.Findings))
	}
	if want := "with a single replica, each drain of its node is then an outage: run several replicas"; r.Findings[1].Caution != want {
		t.Errorf("caution %q, want %q", r.Findings[1].Caution, want)
	}
}

// If both budgets also cover other workloads, the audit cannot decide which one to delete.
func TestTwoBudgetsOfSeveralWorkloads(t *testing.T) {
	front, err := workloads.Backend{Name: "front", Budget: workloads.NoBudget}.Objects(place)
	if err != nil {
		t.Fatal(err)
	}
	m := mutant{more: []runtime.Object{budget(shop, "everybody", &metav1.LabelSelector{})}}
	for _, o := range front {
		o.SetUID("uid of front")
		m.more = append(m.more, o)
	}
	w := newWorld(t, m)
	r := w.audit()
	if len(r.Findings) != 1 || r.Findings[0].Name != "backend" || len(r.Findings[0].Fix) != 0 {
		t.Fatalf("found %s", listed(r.Findings))
	}
	if want := "some of them cover other workloads too, so none can simply be deleted: make their selectors disjoint"; r.Findings[0].Caution != want {
		t.Errorf("caution %q, want %q", r.Findings[0].Caution, want)
	}
}

func TestDemanded(t *testing.T) {
	parse := func(s string) *intstr.IntOrString {
		if s == "" {
			return nil
		}
		v := intstr.Parse(s)
		return &v
	}
	for _, test := range []struct {
		min, max string
		expected int
		want     int
	}{
		{"", "", 6, 0}, // a budget that demands nothing, as the API allows
		{"", "34%", 6, 3}, {"", "9", 6, 0}, {"50%", "", 7, 4}, {"100%", "", 3, 3}, {"0", "", 3, 0}, {"some", "", 3, 0},
	} {
		_, got := demanded(policyv1.PodDisruptionBudgetSpec{MinAvailable: parse(test.min), MaxUnavailable: parse(test.max)}, test.expected)
		if got != test.want {
			t.Errorf("minAvailable %q, maxUnavailable %q of %d: %d healthy, want %d", test.min, test.max, test.expected, got, test.want)
		}
	}
}
