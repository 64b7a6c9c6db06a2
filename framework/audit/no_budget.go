package audit

import (
	"fmt"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var noBudget = Rule{
	ID: "no-budget", Severity: Warning,
	Title: "no PodDisruptionBudget covers it",
	Why: "Drains of several nodes, as in an upgrade, may evict all replicas at once. A budget makes one drain wait for the other. " +
		"It applies to evictions only, not to rollouts or lost nodes.",
	Doc: docBudget, needs: []Resource{Budgets}, check: checkNoBudget,
}

func checkNoBudget(s *subject) {
	if s.Replicas < 2 || len(s.budgets()) > 0 { // for a single replica, a budget can only block every drain
		return
	}
	one, always := intstr.FromInt32(1), policyv1.AlwaysAllow
	at := Target{Kind: kindBudget, Namespace: s.Namespace, Name: s.freeBudgetName()}
	s.find(Finding{
		Evidence: fmt.Sprintf("evictions may take all %d pods at once", s.Replicas),
		Fix: []Step{s.create(at, struct { // without the status that the API type carries
			metav1.TypeMeta   `json:",inline"`
			metav1.ObjectMeta `json:"metadata"`
			Spec              policyv1.PodDisruptionBudgetSpec `json:"spec"`
		}{
			metav1.TypeMeta{APIVersion: "policy/v1", Kind: at.Kind},
			metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name},
			policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: s.Selector, UnhealthyPodEvictionPolicy: &always},
		})},
	})
}

// budgets returns the budgets that cover the subject's pods, by name.
func (s *subject) budgets() (covering []cover) {
	for _, b := range s.inside(s.Namespace).budgets {
		if b.selects.Matches(labels.Set(s.Template.Labels)) {
			covering = append(covering, b)
		}
	}
	slices.SortFunc(covering, func(a, b cover) int { return strings.Compare(a.Name, b.Name) })
	return covering
}

// freeBudgetName returns the workload's own name, or a longer one if a budget that covers something else has that name.
func (s *subject) freeBudgetName() string {
	name := s.Name
	for slices.ContainsFunc(s.inside(s.Namespace).budgets, func(b cover) bool { return b.Name == name }) {
		name += "-budget"
	}
	return name
}
