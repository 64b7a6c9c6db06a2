package audit

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

var budgetCoversNothing = Rule{
	ID: "budget-covers-nothing", Severity: Warning,
	Title: "a PodDisruptionBudget covers no pod",
	Why: "Its owner takes something for protected that is not: evictions may take all of its pods at once. The finding is about the budget. " +
		"A Note if every workload of the namespace with several replicas has a budget.",
	Doc: docBudget, needs: []Resource{Budgets, Deployments, StatefulSets}, checkBudget: checkBudgetCoversNothing,
}

func checkBudgetCoversNothing(s *subject, b cover) {
	idle := func(w Workload) bool {
		return w.Namespace == b.Namespace && b.selects.Matches(labels.Set(w.Template.Labels))
	}
	if b.selects.Empty() || len(s.covered(b)) > 0 || b.Status.ExpectedPods > 0 || b.Status.ObservedGeneration != b.Generation || slices.ContainsFunc(s.cluster.Idle, idle) {
		return
	}
	f := Finding{
		Evidence: fmt.Sprintf("no pod has the labels that budget %s selects: %s", b.Name, metav1.FormatLabelSelector(b.Spec.Selector)), Severity: Note,
		Caution: "no patch can know which pods are meant: correct its selector, or delete it",
	}
	for _, w := range s.inside(b.Namespace).workloads {
		if one := (subject{view: s.view, Workload: w}); w.Replicas > 1 && len(one.budgets()) == 0 {
			f.Severity = Warning
		}
	}
	s.find(f)
}
