package audit

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestBudgetCoversNothing(t *testing.T) {
	astray := func(selector *metav1.LabelSelector, change ...func(*policyv1.PodDisruptionBudget)) []runtime.Object {
		b := budget(shop, "cart", selector)
		b.Status.ExpectedPods = 0
		for _, c := range change {
			c(b)
		}
		return []runtime.Object{b}
	}
	typo := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "carrt"}}
	caught(t, "budget-covers-nothing",
		mutant{name: "a typing error", kind: kindBudget, of: "cart", more: astray(typo), severity: Note, steps: -1, evidence: "no pod has the labels that budget cart selects: app=carrt", caution: "correct its selector, or delete it"},
		mutant{name: "no selector", kind: kindBudget, of: "cart", more: astray(nil), severity: Note, steps: -1, evidence: "no pod has the labels that budget cart selects: <none>"},
	)
	none := workloads.Backend{Budget: workloads.NoBudget}
	for name, selector := range map[string]*metav1.LabelSelector{"a typing error": typo, "no selector": nil} {
		if got := found(t, mutant{backend: none, more: astray(selector)}); !slices.Equal(got, []string{"warning no-budget", "warning budget-covers-nothing"}) {
			t.Errorf("%s, and a workload that it may be meant for: found %q", name, got)
		}
	}
	idle := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "cart"}, Spec: appsv1.DeploymentSpec{Replicas: new(int32)}}
	idle.Spec.Template.Labels = typo.MatchLabels
	clean(t,
		mutant{name: "pods of something else", more: astray(typo, func(b *policyv1.PodDisruptionBudget) { b.Status.ExpectedPods = 1 })},
		mutant{name: "not counted yet", more: astray(typo, func(b *policyv1.PodDisruptionBudget) { b.Generation = 1 })},
		mutant{name: "a workload without replicas at present", more: append(astray(typo), idle)},
		mutant{name: "of a whole namespace without pods", more: astray(&metav1.LabelSelector{}, func(b *policyv1.PodDisruptionBudget) { b.Namespace = "empty" })},
	)
}

// A budget of workloads that cannot be read may cover their pods.
func TestABudgetOfWhatCannotBeRead(t *testing.T) {
	b := budget(shop, "cart", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "cart"}})
	b.Status.ExpectedPods = 0
	c := Cluster{Budgets: []policyv1.PodDisruptionBudget{*b}, Unread: []Unread{{Resource: StatefulSets, Why: "forbidden"}}}
	if r := Audit(c, Options{}); len(r.Findings) > 0 || len(r.NotChecked) != 1 || !slices.Contains(r.NotChecked[0].Rules, "budget-covers-nothing") {
		t.Errorf("found %s, not checked %+v", listed(r.Findings), r.NotChecked)
	}
	for name, test := range map[string]struct {
		budgets []policyv1.PodDisruptionBudget
		unread  []Unread
		want    bool
	}{
		"the budget":                    {nil, []Unread{{Resource: Budgets}}, true},
		"StatefulSets":                  {c.Budgets, []Unread{{Resource: StatefulSets}}, true},
		"Deployments of its namespace":  {c.Budgets, []Unread{{Resource: Deployments, Namespace: shop}}, true},
		"Deployments of another":        {c.Budgets, []Unread{{Resource: Deployments, Namespace: "bank"}}, false},
		"StatefulSets, and it is gone":  {nil, []Unread{{Resource: StatefulSets}}, false},
		"what the rule does not need":   {c.Budgets, []Unread{{Resource: ConfigMaps}}, false},
		"nothing, and it covers no pod": {c.Budgets, nil, false},
	} {
		c := Cluster{Budgets: test.budgets, Unread: test.unread}
		if got := Audit(c, Options{}).Unsettled(&c, "budget-covers-nothing", shop, kindBudget, "cart"); got != test.want {
			t.Errorf("unread: %s: an earlier finding may still be true: %t", name, got)
		}
	}
}

// The budgets of workloads that are left out of an audit cover their pods.
func TestABudgetOfAnotherWorkload(t *testing.T) {
	b := budget(shop, "cart", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "cart"}})
	b.Status.ExpectedPods = 0
	c := Cluster{Budgets: []policyv1.PodDisruptionBudget{*b}, Workloads: []Workload{{Kind: Deployment, Namespace: shop, Name: "cart", Replicas: 2}, {Kind: Deployment, Namespace: shop, Name: "web", Replicas: 1}}}
	c.Workloads[0].Template.Labels = map[string]string{"app": "cart"}
	c.Only("web")
	if r := Audit(c, Options{Skip: []string{"single-replica"}}); r.Workloads != 1 || slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Rule == "budget-covers-nothing" }) {
		t.Errorf("%d workloads, found %s", r.Workloads, listed(r.Findings))
	}
}
