package audit

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/workloads"
)

// Nothing is found in the good practice of package workloads, nor in unusual workloads that are correct.
func TestGoodPracticeIsClean(t *testing.T) {
	clean(t,
		mutant{name: "the default"},
		mutant{name: "a StatefulSet", statefulSet: true},
		mutant{name: "seven pods in three zones", backend: workloads.Backend{Replicas: 7}},
		mutant{name: "a budget of minAvailable", backend: workloads.Backend{Budget: workloads.Budget{MinAvailable: "80%"}}},
		mutant{name: "a node port", backend: workloads.Backend{NodePort: 30080}},
		mutant{
			name: "nodes of one zone are cordoned", nodes: func(nodes []*corev1.Node) {
				for _, n := range nodes[6:] {
					n.Spec.Unschedulable = true
					n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
				}
			},
		},
	)
}

func TestNoReplicasAreNotLookedAt(t *testing.T) {
	w := newWorld(t, mutant{backend: workloads.Backend{Budget: workloads.NoBudget}, harm: func(d *appsv1.Deployment) {
		d.Spec.Replicas = new(int32)
	}})
	w.settle()
	if r := w.audit(); r.Workloads != 0 || len(r.Findings) > 0 {
		t.Errorf("%d workloads, found %s", r.Workloads, listed(r.Findings))
	}
}

// An application with five faults at once, of which none is broken yet.
func TestFaultsThatDoNotShowYet(t *testing.T) {
	astray := budget(shop, "cart", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "carrt"}})
	astray.Status.ExpectedPods = 0
	got := found(t, mutant{
		backend: workloads.Backend{Replicas: 3, Spread: workloads.NoSpread}, on: []string{"a1", "b1", "c1"}, more: append(scaler(Deployment, "backend", 1, 5), astray),
		budget: func(b *policyv1.PodDisruptionBudget) { b.Spec.UnhealthyPodEvictionPolicy = nil },
		harm: func(d *appsv1.Deployment) {
			d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
			c := &d.Spec.Template.Spec.Containers[0]
			c.LivenessProbe = c.ReadinessProbe.DeepCopy()
			c.LivenessProbe.PeriodSeconds, c.LivenessProbe.FailureThreshold = 1, 1
		},
	})
	want := []string{
		"warning unhealthy-pods-block-drains", "warning autoscaler-minimum", "warning recreates-all-pods", "warning no-spread", "note liveness-asks-readiness", "note budget-covers-nothing",
	}
	if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("found %q, want %q", got, want)
	}
}
