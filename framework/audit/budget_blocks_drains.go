package audit

import (
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
)

var budgetBlocksDrains = Rule{
	ID: "budget-blocks-drains", Severity: Error,
	Title: "its budget refuses every eviction",
	Why: "A drain of its node never ends, so upgrades stop there, or are forced and the budget protects nothing. " +
		"Two budgets that cover the same pod have the same effect: the API refuses to evict it. A Warning if it is so only for the fewest replicas that an autoscaler may leave.",
	Doc: docBudget, needs: []Resource{Budgets}, check: checkBudgetBlocksDrains,
}

func checkBudgetBlocksDrains(s *subject) {
	covering := s.budgets()
	if len(covering) > 1 {
		s.find(s.severalBudgets(covering))
		return
	}
	for _, b := range covering {
		expected := s.expected(b)
		demand, healthy := demanded(b.Spec, expected)
		f := Finding{
			Evidence: fmt.Sprintf("budget %s demands %s and covers %s, so none can ever be evicted", b.Name, demand, prose.Count(expected, "pod")),
			Fix: []Step{s.patch(Target{Kind: kindBudget, Namespace: b.Namespace, Name: b.Name}, MergePatch,
				object{"spec": object{"minAvailable": nil, "maxUnavailable": 1}})},
		}
		switch least := s.fewest(b, expected); {
		case healthy < expected:
			if _, healthy = demanded(b.Spec, least); healthy < max(least, 1) {
				continue
			}
			f.Severity, f.Evidence = Warning, fmt.Sprintf("budget %s demands %s, so none can be evicted while HorizontalPodAutoscaler %s leaves %s",
				b.Name, demand, s.autoscaler().Name, prose.Count(least, "pod"))
		case expected == 1:
			f.Caution = "with a single replica, each drain of its node is then an outage: run several replicas"
		}
		s.find(f)
	}
}

// fewest is how many of the pods that a budget covers an autoscaler may leave; without one, or if the budget covers other pods, all that are expected.
func (s *subject) fewest(b cover, expected int) int {
	if h := s.autoscaler(); h != nil && s.coversOnly(b) && expected == s.Replicas {
		return min(minimum(h), expected)
	}
	return expected
}

// severalBudgets is the finding that several budgets cover the same pods. Only a budget that covers no other workload can be
// deleted.
func (s *subject) severalBudgets(covering []cover) Finding {
	var all []string
	for _, b := range covering {
		all = append(all, b.Name)
	}
	f := Finding{
		Evidence: fmt.Sprintf("%d budgets cover its pods (%s), and the API evicts no pod that more than one covers", len(all), listNames(all)),
		Caution:  "decide which budget is meant; these commands keep the first by name",
	}
	for _, b := range covering[1:] {
		if s.coversOnly(b) {
			f.Fix = append(f.Fix, s.remove(Target{Kind: kindBudget, Namespace: b.Namespace, Name: b.Name}))
		}
	}
	if len(f.Fix) < len(covering)-1 {
		f.Caution = "some of them cover other workloads too, so none can simply be deleted: make their selectors disjoint"
		f.Fix = nil
	}
	return f
}

// covered returns the workloads whose pods a budget covers.
func (v *view) covered(b cover) (workloads []*Workload) {
	for _, w := range v.inside(b.Namespace).workloads {
		if b.selects.Matches(labels.Set(w.Template.Labels)) {
			workloads = append(workloads, w)
		}
	}
	return workloads
}

func (s *subject) coversOnly(b cover) bool { return len(s.covered(b)) == 1 }

// expected returns the number of pods that a budget's percentages refer to: the sum of the replicas that its workloads want. If
// the budget covers other pods too, only its status tells, and the larger number counts.
func (s *subject) expected(b cover) int {
	sum := 0
	for _, w := range s.covered(b) {
		sum += w.Replicas
	}
	if b.Status.ObservedGeneration == b.Generation {
		return max(sum, int(b.Status.ExpectedPods))
	}
	return sum
}

// demanded returns what a budget demands, in words, and how many of the expected pods must be healthy. Percentages are rounded
// up, those of maxUnavailable too.
// Source: getExpectedPodCount in k8s.io/kubernetes/pkg/controller/disruption
func demanded(spec policyv1.PodDisruptionBudgetSpec, expected int) (words string, healthy int) {
	switch {
	case spec.MaxUnavailable != nil:
		return "maxUnavailable " + spec.MaxUnavailable.String(), max(expected-share(spec.MaxUnavailable, expected, true), 0)
	case spec.MinAvailable != nil:
		return "minAvailable " + spec.MinAvailable.String(), share(spec.MinAvailable, expected, true)
	}
	return "nothing", 0
}
