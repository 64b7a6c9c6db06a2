package audit

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/holdfast-ha/holdfast/workloads"
)

func budget(namespace, name string, selector *metav1.LabelSelector) *policyv1.PodDisruptionBudget {
	one, always := intstr.FromInt32(1), policyv1.AlwaysAllow
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: selector, UnhealthyPodEvictionPolicy: &always},
		Status:     policyv1.PodDisruptionBudgetStatus{ExpectedPods: 3}, // of which others may be covered, too
	}
}

func TestNoBudget(t *testing.T) {
	none := workloads.Backend{Budget: workloads.NoBudget}
	own := &metav1.LabelSelector{MatchLabels: map[string]string{workloads.LabelName: "backend"}}
	const all = "evictions may take all 6 pods at once"
	caught(t, "no-budget",
		mutant{name: "none", backend: none, evidence: all},
		mutant{name: "a StatefulSet", backend: none, statefulSet: true, evidence: all},
		mutant{
			name: "a budget of the same name that covers others", backend: none, evidence: all,
			more: []runtime.Object{budget(shop, "backend", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}})},
		},
		mutant{name: "in another namespace", backend: none, evidence: all, more: []runtime.Object{budget("other", "backend", own)}},
	)
	clean(t, mutant{
		name: "one for the whole namespace", backend: none, more: []runtime.Object{budget(shop, "all", &metav1.LabelSelector{})},
	})
}
