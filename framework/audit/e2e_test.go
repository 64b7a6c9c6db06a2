//go:build e2e

package audit

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/workloads"
)

// These tests need a real API server, named by KUBECONFIG, but no nodes and no controllers. They use the namespace shop, which
// must be theirs, and one ValidatingAdmissionPolicy:
//
//	KUBECONFIG=... go test -tags e2e ./framework/audit
func TestMain(m *testing.M) {
	if os.Getenv("KUBECONFIG") != "" {
		alsoOn = acceptedByARealAPIServer
	}
	os.Exit(m.Run())
}

func realCluster(t *testing.T) *rest.Config {
	t.Helper()
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		t.Fatal("KUBECONFIG is not set, and this test needs a real API server: make test-cluster starts one")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 100, 200
	return config
}

// ours creates the test's namespace, and fails if a namespace of that name exists that is not holdfast's.
func ours(t *testing.T, client dynamic.Interface) {
	t.Helper()
	namespaces := client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	there, err := namespaces.Get(t.Context(), shop, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = namespaces.Create(t.Context(), plain(t, workloads.Namespace(shop)), metav1.CreateOptions{})
	} else if err == nil && there.GetLabels()[workloads.LabelPartOf] != "holdfast" {
		t.Fatalf("namespace %s exists and is not holdfast's", shop)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// plain returns an object as a manifest has it, without fields that the API server sets.
func plain(t *testing.T, object runtime.Object) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	for _, field := range []string{"uid", "resourceVersion", "managedFields", "creationTimestamp"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	delete(u.Object, "status")
	return u
}

// acceptedByARealAPIServer checks that a real API server with all its validation accepts each step: it creates the object there
// as the mutant has it, and tries the step as a dry run.
func acceptedByARealAPIServer(w *world, fix []Step) {
	client, err := dynamic.NewForConfig(realCluster(w.T))
	w.must(err)
	ours(w.T, client)
	dry := []string{metav1.DryRunAll}
	for _, step := range fix {
		resource, known := ResourceOf(step.Target.Kind)
		if !known || step.Target.Namespace != shop || step.Do == Restart {
			continue // a Pod cannot be created without its controller
		}
		at := client.Resource(resource).Namespace(shop)
		if step.Do == Create {
			manifest := &unstructured.Unstructured{}
			w.must(manifest.UnmarshalJSON(step.Body))
			_, err := at.Create(w.ctx, manifest, metav1.CreateOptions{DryRun: dry, FieldValidation: metav1.FieldValidationStrict})
			w.must(err)
			continue
		}
		typed, err := w.client.Tracker().Get(resource, shop, step.Target.Name)
		w.must(err)
		object := plain(w.T, typed)
		object.SetGroupVersionKind(resource.GroupVersion().WithKind(step.Target.Kind))
		_, err = at.Create(w.ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		w.must(err)
		if step.Do == Delete {
			err = at.Delete(w.ctx, step.Target.Name, metav1.DeleteOptions{DryRun: dry})
		} else {
			_, err = at.Patch(w.ctx, step.Target.Name, step.PatchType.API(), step.Body,
				metav1.PatchOptions{DryRun: dry, FieldValidation: metav1.FieldValidationStrict})
		}
		if err != nil {
			w.Errorf("a real API server refuses %s\n%v", step.Command, err)
		}
		w.must(at.Delete(w.ctx, step.Target.Name, metav1.DeleteOptions{}))
	}
}

// applyPolicy applies the policy to the cluster until the test ends.
func applyPolicy(t *testing.T, client dynamic.Interface) {
	t.Helper()
	text, err := Policy(DefaultCritical)
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range strings.Split(string(text), "---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
			t.Fatal(err)
		}
		at := client.Resource(resources[u.GetKind()])
		created, err := at.Create(t.Context(), u, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := at.Delete(context.WithoutCancel(t.Context()), created.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// critical returns a backend's Deployment that the policy binds.
func critical(t *testing.T, b workloads.Backend, change func(*appsv1.Deployment)) *appsv1.Deployment {
	t.Helper()
	objects, err := b.Objects(place)
	if err != nil {
		t.Fatal(err)
	}
	d := objects[len(objects)-1].(*appsv1.Deployment)
	d.Labels["holdfast.dev/critical"] = "true"
	if change != nil {
		change(d)
	}
	return d
}

// TestPolicyOnARealAPIServer checks what the policy refuses, and what it allows.
func TestPolicyOnARealAPIServer(t *testing.T) {
	config := realCluster(t)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ours(t, client)
	deployments := typed.AppsV1().Deployments(shop)
	// A bad Deployment that is older than the policy, and being deleted.
	bad := workloads.Backend{Spread: workloads.NoSpread}
	old := critical(t, bad, func(d *appsv1.Deployment) { d.Name, d.Finalizers = "old", []string{"holdfast.dev/test"} })
	if _, err := deployments.Create(t.Context(), old, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := deployments.Delete(t.Context(), "old", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	applyPolicy(t, client)
	create := func(d *appsv1.Deployment, statefulSet bool) error {
		options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		if statefulSet {
			_, err := typed.AppsV1().StatefulSets(shop).Create(t.Context(), asStatefulSet(d), options)
			return err
		}
		_, err := deployments.Create(t.Context(), d, options)
		return err
	}
	err = poll.Until(t.Context(), "the policy to be in force", time.Minute, func(context.Context) (bool, string, error) {
		err := create(critical(t, bad, nil), false)
		return err != nil, fmt.Sprint(err), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	softZone := workloads.Spread{Key: workloads.Zone, Unsatisfiable: corev1.ScheduleAnyway}
	withZone := func(change func(*corev1.TopologySpreadConstraint)) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { change(&d.Spec.Template.Spec.TopologySpreadConstraints[0]) }
	}
	for _, test := range []struct {
		name    string
		backend workloads.Backend
		change  func(*appsv1.Deployment)
		refused bool
	}{
		{"good practice", workloads.Backend{}, nil, false},
		{"a second constraint is the one", workloads.Backend{Spread: []workloads.Spread{{Key: workloads.Host}, {Key: workloads.Zone}}}, nil, false},
		{"an expression instead of labels", workloads.Backend{}, withZone(func(c *corev1.TopologySpreadConstraint) {
			c.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: workloads.LabelName, Operator: metav1.LabelSelectorOpExists},
			}}
		}), false},
		{"not critical", bad, func(d *appsv1.Deployment) { delete(d.Labels, "holdfast.dev/critical") }, false},
		{"critical is not true", bad, func(d *appsv1.Deployment) { d.Labels["holdfast.dev/critical"] = "false" }, false},
		{"no labels", bad, func(d *appsv1.Deployment) { d.Labels = nil }, false},
		{"none", bad, nil, true},
		{"a preference", workloads.Backend{Spread: []workloads.Spread{softZone}}, nil, true},
		{"nodes only", workloads.Backend{Spread: []workloads.Spread{{Key: workloads.Host}}}, nil, true},
		{"counts other pods", workloads.Backend{Spread: []workloads.Spread{{Key: workloads.Zone, Selector: map[string]string{"app": "x"}}}}, nil, true},
		{"counts nothing", workloads.Backend{}, withZone(func(c *corev1.TopologySpreadConstraint) { c.LabelSelector, c.MatchLabelKeys = nil, nil }), true},
	} {
		for _, statefulSet := range []bool{false, true} {
			err := create(critical(t, test.backend, test.change), statefulSet)
			if refused := apierrors.IsInvalid(err); refused != test.refused || err != nil && !refused {
				t.Errorf("%s (StatefulSet: %v): %v; want refused: %v", test.name, statefulSet, err, test.refused)
			} else if refused && !strings.Contains(err.Error(), "a workload labelled "+DefaultCritical+" needs a topology spread constraint") {
				t.Errorf("%s: the refusal %q does not say what to add", test.name, err)
			}
		}
	}
	updates(t, typed)
}

// updates checks updates of existing workloads: the policy refuses one that makes a workload worse, but not one that makes it
// non-critical, or its deletion.
func updates(t *testing.T, client *kubernetes.Clientset) {
	t.Helper()
	deployments := client.AppsV1().Deployments(shop)
	if _, err := deployments.Create(t.Context(), critical(t, workloads.Backend{}, nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := deployments.Delete(context.WithoutCancel(t.Context()), "backend", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	const without = `"spec":{"template":{"spec":{"topologySpreadConstraints":null}}}`
	for _, test := range []struct {
		what, name, patch string
		subresource       []string
		refused           bool
	}{
		{"takes the constraint away", "backend", `{` + without + `}`, nil, true},
		{"scales", "backend", `{"spec":{"replicas":2}}`, []string{"scale"}, false},
		{"is no longer critical, nor spread", "backend", `{"metadata":{"labels":{"holdfast.dev/critical":null}},` + without + `}`, nil, false},
		{"is critical again, unspread", "backend", `{"metadata":{"labels":{"holdfast.dev/critical":"true"}}}`, nil, true},
		{"ends", "old", `{"metadata":{"finalizers":null}}`, nil, false},
	} {
		_, err := deployments.Patch(t.Context(), test.name, types.MergePatchType, []byte(test.patch), metav1.PatchOptions{}, test.subresource...)
		if refused := apierrors.IsInvalid(err); refused != test.refused || err != nil && !refused {
			t.Errorf("an update that %s: %v; want refused: %v", test.what, err, test.refused)
		}
	}
	if _, err := deployments.Get(t.Context(), "old", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a bad workload that was deleted is still there (%v)", err)
	}
}
