package audit

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-ha/holdfast/workloads"
)

// What Access names is what Read requests, no more and no less.
func TestAccessIsWhatReadUses(t *testing.T) {
	withoutMaps := []string{"fixed-node-ports"}
	withoutBudgets := []string{"no-budget", "budget-blocks-drains", "budget-covers-nothing", "unhealthy-pods-block-drains"}
	for name, scope := range map[string]Scope{
		"all": {}, "a namespace": {Namespaces: []string{shop}}, "no ConfigMaps": {Skip: withoutMaps}, "no budgets": {Skip: withoutBudgets},
		"no rule at all": {Namespaces: []string{shop}, Skip: ids(Rules)},
	} {
		w := newWorld(t, mutant{more: []runtime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop}}}})
		w.settle()
		w.client.ClearActions()
		if _, err := Read(w.ctx, w.client, scope); err != nil {
			t.Fatal(err)
		}
		var used, granted []string
		for _, a := range w.client.Actions() {
			used = append(used, strings.Join([]string{a.GetVerb(), a.GetResource().Group, a.GetResource().Resource}, " "))
		}
		for _, a := range scope.Access() {
			granted = append(granted, strings.Join([]string{a.Verb, a.Group, string(a.Resource)}, " "))
		}
		slices.Sort(used)
		slices.Sort(granted)
		if diff := cmp.Diff(granted, used); diff != "" || len(granted) < len(always) {
			t.Errorf("%s (-granted +used):\n%s", name, diff)
		}
	}
}

// What was not read because its rules are left out is no empty list: whoever asks for such a rule nevertheless is told.
func TestWhatWasNotReadIsNotChecked(t *testing.T) {
	w := newWorld(t, mutant{backend: workloads.Backend{Budget: workloads.NoBudget}})
	w.settle()
	skip := []string{"budget-blocks-drains", "no-budget", "budget-covers-nothing", "unhealthy-pods-block-drains"}
	c, err := Read(w.ctx, w.client, Scope{Skip: skip})
	w.must(err)
	if r := Audit(c, Options{Skip: skip}); len(r.NotChecked)+len(r.Findings) > 0 {
		t.Errorf("without the rules: not checked %+v, found %s", r.NotChecked, listed(r.Findings))
	}
	r := Audit(c, Options{})
	if len(r.NotChecked) != 1 || !slices.Equal(r.NotChecked[0].Rules, skip) || len(r.Findings) > 0 {
		t.Errorf("with the rules: not checked %+v, found %s", r.NotChecked, listed(r.Findings))
	}
}
