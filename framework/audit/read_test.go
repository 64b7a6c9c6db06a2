package audit

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/workloads"
)

// Read gets and lists what Access names, no more and no less.
func TestAccessIsWhatReadUses(t *testing.T) {
	for name, scope := range map[string]Scope{
		"all": {}, "a namespace": {Namespaces: []string{shop}}, "no ConfigMaps": {Skip: []string{"fixed-node-ports"}},
		"no budgets":     {Skip: []string{"no-budget", "budget-blocks-drains", "budget-covers-nothing", "unhealthy-pods-block-drains"}},
		"no rule at all": {Namespaces: []string{shop}, Skip: ids(Rules)},
	} {
		w := newWorld(t, good, with(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop}}))
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

// What was not read because its rules are left out is no empty list: for such a rule it is reported.
func TestWhatWasNotReadIsNotChecked(t *testing.T) {
	w := newWorld(t, unbudgeted)
	skip := []string{"budget-blocks-drains", "no-budget", "budget-covers-nothing", "unhealthy-pods-block-drains"}
	c, err := Read(w.ctx, w.client, Scope{Skip: skip})
	w.must(err)
	if got := outcome(Audit(c, Options{Skip: skip})); got != "" {
		t.Errorf("without the rules: %s", got)
	}
	if got := outcome(Audit(c, Options{})); got != "undecided "+strings.Join(skip, " ") {
		t.Errorf("with the rules: %s", got)
	}
}

func TestScope(t *testing.T) {
	in := func(namespace string) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "d"}}
	}
	var all []runtime.Object
	for _, name := range []string{"kube-system", "shop", "bank", "kubernetes"} {
		all = append(all, in(name), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	client := fake.NewClientset(all...)
	for _, test := range []struct {
		scope Scope
		want  string
	}{
		{Scope{}, "bank kubernetes shop"},
		{Scope{System: true}, "bank kube-system kubernetes shop"},
		{Scope{Namespaces: []string{"shop"}}, "shop"},
		{Scope{Namespaces: []string{"kube-system", "bank"}}, "bank kube-system"},
	} {
		c, err := Read(t.Context(), client, test.scope)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range c.Workloads {
			got = append(got, w.Namespace)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != test.want || len(c.Unread) > 0 {
			t.Errorf("%+v: %v, unread %+v; want %s", test.scope, got, c.Unread, test.want)
		}
	}
}

// A namespace that does not exist has no findings, but must be reported as not checked.
func TestNoSuchNamespace(t *testing.T) {
	c, err := Read(t.Context(), fake.NewClientset(), Scope{Namespaces: []string{"shpo"}})
	if err != nil {
		t.Fatal(err)
	}
	r := Audit(c, Options{})
	if len(r.NotChecked) != 1 || len(r.NotChecked[0].Rules) != len(Rules) || r.NotChecked[0].Where() != "namespace shpo" ||
		r.NotChecked[0].Why != `namespaces "shpo" not found` {
		t.Errorf("not checked: %+v", r.NotChecked)
	}
}

// Read reads all pages of a list.
func TestReadReadsEveryPage(t *testing.T) {
	client := fake.NewClientset()
	var asked []string
	client.PrependReactor("list", "nodes", func(a k8stesting.Action) (bool, runtime.Object, error) {
		options := a.(k8stesting.ListActionImpl).ListOptions
		asked = append(asked, fmt.Sprintf("%d after %q", options.Limit, options.Continue))
		list := &corev1.NodeList{Items: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "node" + options.Continue}}}}
		if len(asked) < 3 {
			list.Continue = fmt.Sprint(len(asked))
		}
		return true, list, nil
	})
	c, err := Read(t.Context(), client, Scope{})
	if err != nil || len(c.Nodes) != 3 || c.Nodes[2].Name != "node2" {
		t.Fatalf("%d nodes, %v", len(c.Nodes), err)
	}
	if diff := cmp.Diff([]string{`500 after ""`, `500 after "1"`, `500 after "2"`}, asked); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

// Rules that need a forbidden resource are reported as not checked; the others are applied.
func TestWhatMayNotBeReadIsNotChecked(t *testing.T) {
	all := ids(Rules)
	for _, test := range []struct {
		resource Resource
		where    string
		without  []string // rules
	}{
		{Deployments, "all namespaces, every Deployment", all},
		{StatefulSets, "all namespaces, every StatefulSet", all},
		{ReplicaSets, "all namespaces, every Deployment", []string{"one-node", "one-zone", "pending-on-hard-constraint", "no-spread", "soft-constraint-violated"}},
		{Pods, "all namespaces", []string{"one-node", "one-zone", "pending-on-hard-constraint", "no-spread", "soft-constraint-violated"}},
		{Nodes, "all namespaces", []string{
			"one-zone", "pending-on-hard-constraint", "unmeetable-anti-affinity", "no-room-to-surge", "no-spread", "unusable-domain", "soft-constraint-violated", "fixed-node-ports",
		}},
		{Budgets, "all namespaces", []string{"budget-blocks-drains", "no-budget", "budget-covers-nothing", "unhealthy-pods-block-drains"}},
		{Services, "all namespaces", []string{"recreates-all-pods", "no-readiness-probe", "no-prestop", "offers-unready-pods", "fixed-node-ports", "liveness-asks-readiness"}},
		{EndpointSlices, "all namespaces", []string{"fixed-node-ports"}},
		{ConfigMaps, "all namespaces", []string{"fixed-node-ports"}},
		{Quotas, "all namespaces", []string{"quota-stops-rollout"}},
		{Autoscalers, "all namespaces", []string{"autoscaler-minimum"}},
	} {
		w := newWorld(t, workloads.Backend{Spread: workloads.NoSpread, Budget: workloads.NoBudget, Readiness: workloads.NoReadiness})
		w.client.PrependReactor("list", string(test.resource), func(k8stesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: string(test.resource)}, "", errors.New("no"))
		})
		r := w.audit()
		if len(r.NotChecked) != 1 {
			t.Errorf("%s: not checked %+v", test.resource, r.NotChecked)
			continue
		}
		n := r.NotChecked[0]
		if diff := cmp.Diff(test.without, n.Rules); diff != "" || n.Where() != test.where || !strings.Contains(n.Why, "is forbidden: no") {
			t.Errorf("%s: %s: %s (-want +got):\n%s", test.resource, n.Where(), n.Why, diff)
		}
		var want []string
		for _, rule := range []string{"one-node", "no-budget", "no-readiness-probe"} {
			if !slices.Contains(test.without, rule) || test.resource == StatefulSets { // the faults are a Deployment's
				want = append(want, rule)
			}
		}
		var got []string
		for _, f := range r.Findings {
			got = append(got, f.Rule)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("without %s found (-want +got):\n%s", test.resource, diff)
		}
	}
}

// A resource that is forbidden in one namespace is still checked in others.
func TestForbiddenInOneNamespace(t *testing.T) {
	w := newWorld(t, unbudgeted, with(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bank"}},
	))
	w.client.PrependReactor("list", "poddisruptionbudgets", func(a k8stesting.Action) (bool, runtime.Object, error) {
		return a.GetNamespace() == "bank", nil, apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "", errors.New("no"))
	})
	c, err := Read(w.ctx, w.client, Scope{Namespaces: []string{"bank", shop}})
	w.must(err)
	r := Audit(c, Options{})
	if len(r.Findings) != 1 || r.Findings[0].Rule != "no-budget" || len(r.NotChecked) != 1 || r.NotChecked[0].Namespace != "bank" {
		t.Errorf("found %s, not checked %+v", listed(r.Findings), r.NotChecked)
	}
}

// A cluster that cannot be queried at all is an error, not a report.
func TestUnreachable(t *testing.T) {
	refused := &url.Error{Op: "Get", URL: "https://10.0.0.1:6443", Err: errors.New("connection refused")}
	for _, err := range []error{refused, apierrors.NewUnauthorized("who are you"), context.Canceled} {
		client := fake.NewClientset()
		client.PrependReactor("list", "statefulsets", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, err })
		_, got := Read(t.Context(), client, Scope{})
		if !errors.Is(got, err) || !strings.HasPrefix(got.Error(), "read statefulsets: ") {
			t.Errorf("%v: %v", err, got)
		}
		if last := client.Actions(); last[len(last)-1].GetResource().Resource != "statefulsets" {
			t.Errorf("%v: asked on for %v", err, last)
		}
	}
}

// Pods belong to the workload that their owner references lead to, whatever their labels; pods that have ended belong to none.
func TestPodsOfAWorkload(t *testing.T) {
	w := newWorld(t, workloads.Backend{Replicas: 2})
	pods, err := w.client.CoreV1().Pods(shop).List(w.ctx, metav1.ListOptions{})
	w.must(err)
	add := func(name string, change func(*corev1.Pod)) {
		p := pods.Items[0].DeepCopy()
		p.Name = name
		change(p)
		_, err := w.client.CoreV1().Pods(shop).Create(w.ctx, p, metav1.CreateOptions{})
		w.must(err)
	}
	add("done", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	add("failed", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	add("alone", func(p *corev1.Pod) { p.OwnerReferences = nil })
	add("somebody-else's", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "uid of another set" })
	add("relabelled", func(p *corev1.Pod) { p.Labels = nil })
	c, err := Read(w.ctx, w.client, Scope{})
	w.must(err)
	var got []string
	for _, p := range c.Workloads[0].Pods {
		got = append(got, p.Name)
	}
	if diff := cmp.Diff([]string{"backend-rs-0", "backend-rs-1", "relabelled"}, got); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}
