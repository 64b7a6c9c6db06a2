package manifests

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/fault"
)

// unbudgeted returns a world in which the audit finds nothing but a missing budget.
func unbudgeted(t *testing.T) *world {
	t.Helper()
	w := newWorld()
	d := w.deployment()
	d.Spec.Template.Spec.TopologySpreadConstraints = nil
	d.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
		{Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: d.Spec.Selector}},
	}}}
	d.Spec.Template.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
	must(t, w.client.Tracker().Update(deployments, d, "ns"))
	client := w.dynamic
	client.PrependReactor("create", "poddisruptionbudgets", func(a k8stesting.Action) (bool, runtime.Object, error) {
		made := a.(k8stesting.CreateAction).GetObject().(*unstructured.Unstructured)
		budget := &policyv1.PodDisruptionBudget{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(made.Object, budget); err != nil {
			return true, nil, err
		}
		_, err := w.client.PolicyV1().PodDisruptionBudgets("ns").Create(t.Context(), budget, metav1.CreateOptions{})
		return true, made, err
	})
	client.PrependReactor("get", "poddisruptionbudgets", func(a k8stesting.Action) (bool, runtime.Object, error) {
		budget, err := w.client.PolicyV1().PodDisruptionBudgets("ns").Get(t.Context(), a.(k8stesting.GetAction).GetName(), metav1.GetOptions{})
		if err != nil {
			return true, nil, err
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(budget)
		return true, &unstructured.Unstructured{Object: content}, err
	})
	return w
}

// swallow makes the API server accept a budget and store nothing.
func swallow(client *dynamicfake.FakeDynamicClient) {
	client.PrependReactor("create", "poddisruptionbudgets", func(a k8stesting.Action) (bool, runtime.Object, error) {
		return true, a.(k8stesting.CreateAction).GetObject(), nil
	})
}

func TestFixesAreAudited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := unbudgeted(t)
		target := w.target()
		target.SchedulableReplicas = 3 // before the fix, which gives all of them a node
		revert, err := inject(t.Context(), ApplyAuditFixes{}, target)
		if err != nil {
			t.Fatal(err)
		}
		if len(w.audits) != 2 || !slices.Contains(w.audits[0], "no-budget") || slices.Contains(w.audits[1], "no-budget") {
			t.Errorf("audits found %q", w.audits)
		}
		if len(w.seen) != 1 || !strings.Contains(w.seen[0], "the audit found no-budget; patched no-budget; and then it found nothing; 6 pods exist") {
			t.Errorf("seen %q", w.seen)
		}
		for range 2 {
			if err := revert(t.Context()); err != nil || len(w.healed) != 1 {
				t.Errorf("%v, healed %q", err, w.healed)
			}
		}
	})
}

// TestFindingsThatAreLeft checks that the record has the findings that remain after the fixes, for a promise to judge.
func TestFindingsThatAreLeft(t *testing.T) {
	w := unbudgeted(t)
	w.dynamic.PrependReactor("create", "poddisruptionbudgets", func(a k8stesting.Action) (bool, runtime.Object, error) {
		made := a.(k8stesting.CreateAction).GetObject().(*unstructured.Unstructured)
		_, err := w.client.PolicyV1().PodDisruptionBudgets("ns").Create(t.Context(), &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: made.GetName()}, // of no pods
		}, metav1.CreateOptions{})
		return true, made, err
	})
	if _, err := inject(t.Context(), ApplyAuditFixes{}, w.target()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"no-budget"}, {"no-budget", "budget-covers-nothing"}}, w.audits); diff != "" {
		t.Errorf("audits (-want +got):\n%s", diff)
	}
}

// TestAFixThatChangesNothing checks that a step that leaves the object as it was is an error, whatever the next audit finds.
func TestAFixThatChangesNothing(t *testing.T) {
	w := unbudgeted(t)
	swallow(w.dynamic)
	revert, err := inject(t.Context(), ApplyAuditFixes{}, w.target())
	const want = "fix no-budget of backend: the API server accepted a create of PodDisruptionBudget backend and changed nothing"
	if err == nil || err.Error() != want || revert == nil || len(w.seen) > 0 {
		t.Errorf("got %v, seen %q; want %s", err, w.seen, want)
	}
}

func TestNothingToFix(t *testing.T) {
	w := unbudgeted(t)
	_, err := inject(t.Context(), ApplyAuditFixes{Leave: "no-budget"}, w.target())
	if want := "fix backend: the audit found nothing to patch: no-budget"; err == nil || err.Error() != want || len(w.seen) > 0 {
		t.Errorf("got %v, seen %q; want %s", err, w.seen, want)
	}
}

// TestSend checks that each kind of step sends the request of its command.
func TestSend(t *testing.T) {
	object := audit.Target{Kind: "Deployment", Namespace: "ns", Name: "backend"}
	for name, s := range map[string]struct {
		step audit.Step
		want string
	}{
		"a JSON patch": {audit.Step{Do: audit.Patch, Target: object, PatchType: audit.JSONPatch, Body: []byte(`[]`)},
			"patch deployments application/json-patch+json []"},
		"a merge patch": {audit.Step{Do: audit.Patch, Target: object, PatchType: audit.MergePatch, Body: []byte(`{}`)},
			"patch deployments application/merge-patch+json {}"},
		"a strategic patch": {audit.Step{Do: audit.Patch, Target: object, PatchType: audit.StrategicPatch, Body: []byte(`{"spec":{}}`)},
			`patch deployments application/strategic-merge-patch+json {"spec":{}}`},
		"a restart": {audit.Step{Do: audit.Restart, Target: object},
			`patch deployments application/strategic-merge-patch+json {"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":`},
		"a deletion": {audit.Step{Do: audit.Delete, Target: audit.Target{Kind: "PodDisruptionBudget", Namespace: "ns", Name: "b"}},
			"delete poddisruptionbudgets"},
	} {
		client := newWorld().dynamic
		var did []string
		client.PrependReactor("*", "*", func(a k8stesting.Action) (bool, runtime.Object, error) {
			text := a.GetVerb() + " " + a.GetResource().Resource
			if p, ok := a.(k8stesting.PatchAction); ok {
				text += " " + string(p.GetPatchType()) + " " + string(p.GetPatch())
			}
			did = append(did, text)
			return true, &unstructured.Unstructured{}, nil
		})
		err := target{fault.Target{Dynamic: client}}.send(t.Context(), s.step)
		if err != nil || len(did) != 1 || !strings.HasPrefix(did[0], s.want) {
			t.Errorf("%s: %q, %v; want %s", name, did, err, s.want)
		}
	}
	unknown := audit.Step{Do: audit.Patch, Target: audit.Target{Kind: "Pod"}}
	if err := (target{}).send(t.Context(), unknown); err == nil || err.Error() != "unknown kind Pod" {
		t.Errorf("got %v", err)
	}
}
