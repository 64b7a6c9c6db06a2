package deploy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	ktesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/deploy"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// cluster is an API server in memory whose controllers are the test's.
type cluster struct {
	*dynamicfake.FakeDynamicClient
	client *fake.Clientset
	did    []string // what was created and deleted
	// status is what a controller writes into the status of an object when it is applied; none: nothing.
	status map[string]string
	mapper *mapper
}

// mapper knows some kinds, and others once their definition was applied.
type mapper struct {
	meta.RESTMapper
	known map[schema.GroupKind]meta.RESTScope
}

func (m *mapper) Reset() {}

func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	scope, known := m.known[kind]
	if !known {
		return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
	}
	plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(versions[0]))
	return &meta.RESTMapping{Resource: plural, GroupVersionKind: kind.WithVersion(versions[0]), Scope: scope}, nil
}

func newCluster(status map[string]string) *cluster {
	lists := map[schema.GroupVersionResource]string{{Group: "shop.org", Version: "v1", Resource: "carts"}: "CartList"}
	c := &cluster{
		FakeDynamicClient: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists), client: fake.NewClientset(), status: status,
		mapper: &mapper{known: map[schema.GroupKind]meta.RESTScope{
			{Kind: "ConfigMap"}: meta.RESTScopeNamespace, {Kind: "Service"}: meta.RESTScopeNamespace, {Kind: "Pod"}: meta.RESTScopeNamespace,
			{Kind: "Namespace"}:             meta.RESTScopeRoot,
			{Kind: "PersistentVolumeClaim"}: meta.RESTScopeNamespace, {Group: "apps", Kind: "Deployment"}: meta.RESTScopeNamespace,
			{Group: "batch", Kind: "Job"}: meta.RESTScopeNamespace, {Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}: meta.RESTScopeRoot,
			{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:         meta.RESTScopeNamespace,
			{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: meta.RESTScopeRoot,
		}},
	}
	c.PrependReactor("patch", "*", c.applied)
	c.PrependReactor("delete", "*", func(action ktesting.Action) (bool, runtime.Object, error) {
		c.did = append(c.did, "delete "+action.(ktesting.DeleteAction).GetName())
		return false, nil, nil
	})
	return c
}

// applied stores an object, with the status that its controller gives it.
func (c *cluster) applied(action ktesting.Action) (bool, runtime.Object, error) {
	patch := action.(ktesting.PatchAction)
	if patch.GetPatchType() != "application/apply-patch+yaml" {
		return false, nil, nil
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(patch.GetPatch()); err != nil {
		return true, nil, err
	}
	c.did = append(c.did, "create "+o.GetName())
	if text, has := c.status[o.GetName()]; has {
		var status map[string]any
		inJSON, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return true, nil, err
		}
		if err := utiljson.Unmarshal(inJSON, &status); err != nil {
			return true, nil, err
		}
		o.Object["status"] = status
	}
	if o.GetKind() == "CustomResourceDefinition" {
		c.mapper.known[schema.GroupKind{Group: "shop.org", Kind: "Cart"}] = meta.RESTScopeNamespace
	}
	if o.GetName() == "gone" {
		return true, o, nil
	}
	tracker := c.Tracker()
	if err := tracker.Create(action.GetResource(), o, action.GetNamespace()); err != nil {
		return true, o, tracker.Update(action.GetResource(), o, action.GetNamespace())
	}
	return true, o, nil
}

// deployment is an application of texts on the cluster.
func (c *cluster) deployment(t *testing.T, before, text string) (*deploy.Deployment, *[]string) {
	t.Helper()
	var all []app.Manifest
	for _, part := range []struct {
		text   string
		before bool
	}{{before, true}, {text + tested, false}} {
		for one := range strings.SplitSeq(part.text, "---\n") {
			m := app.Manifest{Source: "app.yaml", Before: part.before}
			inJSON, err := yaml.YAMLToJSON([]byte(one))
			if err != nil {
				t.Fatal(err)
			}
			if err := utiljson.Unmarshal(inJSON, &m.Object.Object); err != nil { // with whole numbers as the API server has them
				t.Fatal(err)
			}
			if m.Object.Object != nil {
				all = append(all, m)
			}
		}
	}
	a, err := app.New(all, "shop")
	if err != nil {
		t.Fatal(err)
	}
	var outside []string
	d, err := deploy.New(&rest.Config{Host: "http://nowhere.test"}, &a)
	if err != nil {
		t.Fatal(err)
	}
	d.Client, d.Dynamic, d.Mapper = c.client, c, c.mapper
	d.Outside = func(o workloads.Object) { outside = append(outside, o.GetName()) }
	return d, &outside
}

const (
	tested = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {selector: {matchLabels: {app: web}}}\n"

	definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: carts.shop.org}\n" +
		"spec: {group: shop.org, names: {kind: Cart, plural: carts}, scope: Namespaced, versions: [{name: v1, served: true}]}\n---\n"
	operator = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: operator}\nspec: {replicas: 1, selector: {matchLabels: {app: operator}}, " +
		"template: {metadata: {labels: {app: operator}}, spec: {containers: [{name: c, image: i}]}}}\n---\n"
	cart = "apiVersion: shop.org/v1\nkind: Cart\nmetadata: {name: cart}\n---\n"
	role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: role}\n---\n"

	established = "conditions: [{type: Established, status: 'True'}]"
	available   = "{replicas: 1, readyReplicas: 1, updatedReplicas: 1, availableReplicas: 1, conditions: [{type: Available, status: 'True'}]}"
	complete    = "conditions: [{type: Complete, status: 'True'}]"
)

// job is a Job with annotations.
func job(name, annotations string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + ", annotations: {" + annotations + "}}\nspec: {selector: {matchLabels: {job: " + name + "}}}\n---\n"
}

// Definitions and operators are there before what needs them, hooks run at their place, and the rest follows.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(map[string]string{"carts.shop.org": established, "operator": available, "pre": complete, "post": complete, "seed": complete})
		d, outside := c.deployment(t, operator+definition,
			cart+role+job("post", "helm.sh/hook: post-install")+job("pre", `helm.sh/hook: pre-install, helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"`)+
				job("seed", "")+job("smoke", "helm.sh/hook: test"))
		errtest.Check(t, d.Deploy(t.Context()), "")
		want := []string{
			"create carts.shop.org", "create operator", "create pre", "delete pre", "create role", "create cart", "create web", "create seed", "create post",
		}
		if diff := cmp.Diff(want, c.did); diff != "" {
			t.Errorf("what was done (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"carts.shop.org", "role"}, *outside); diff != "" {
			t.Errorf("what is not deleted with a namespace (-want +got):\n%s", diff)
		}
	})
}

// failedPod is a pod of a Job that has failed.
func failedPod(labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "shop", Labels: labels},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "c", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 7}},
		}}},
	}
}

func TestWhatDoesNotBecomeReadyIsSaid(t *testing.T) {
	pre := job("pre", "helm.sh/hook: pre-install")
	waiting := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "shop", Labels: map[string]string{"app": "operator", "job": "pre"}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not there"}},
		}}},
	}
	for name, test := range map[string]struct {
		before, text string
		status       map[string]string
		pod          *corev1.Pod
		want         []string
	}{
		"a hook that fails": {
			"", pre, map[string]string{"pre": "conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded, message: too often}]"}, failedPod(map[string]string{"job": "pre"}),
			[]string{
				"pre-install hook Job pre (app.yaml): it failed: BackoffLimitExceeded: too often; container c of pod p ended with exit code 7; its last lines:\nfake logs",
				"correct the chart or its values, or leave the hook out of the manifests of the test",
			},
		},
		"a hook that fails without a trace": {
			"", pre, map[string]string{"pre": "conditions: [{type: Failed, status: 'True'}]"}, nil, []string{"none of its pods is left to say why"},
		},
		"a hook that does not start": {"", pre, nil, waiting, []string{"pre-install hook Job pre (app.yaml): it has not completed, with 0 pods active: pod p: container c: ErrImagePull: not there: correct the chart"}},
		"a hook that does not end":   {"", pre, nil, nil, []string{"pre-install hook Job pre (app.yaml): waited 5m0s for it to end: last seen it has not completed, with 0 pods active"}},
		"a hook that is a Pod": {
			"", "apiVersion: v1\nkind: Pod\nmetadata: {name: pre, annotations: {helm.sh/hook: pre-install}}\n---\n", map[string]string{"pre": "{phase: Failed, message: evicted}"}, nil,
			[]string{"pre-install hook Pod pre (app.yaml): it failed: evicted"},
		},
		"a Job that fails":             {"", job("seed", ""), map[string]string{"seed": "conditions: [{type: Failed, status: 'True', reason: DeadlineExceeded}]"}, nil, []string{"Job seed (app.yaml) does not become ready: it failed: DeadlineExceeded"}},
		"an operator without image":    {operator, "", nil, waiting, []string{"Deployment operator (app.yaml) does not become ready: ", "pod p: container c: ErrImagePull: not there"}},
		"a definition that is refused": {definition, "", map[string]string{"carts.shop.org": "conditions: [{type: NamesAccepted, status: 'False', reason: Conflict, message: carts is taken}]"}, nil, []string{"CustomResourceDefinition carts.shop.org (app.yaml) does not become ready: carts is taken"}},
		"a definition that never is":   {definition, "", nil, nil, []string{"waited 5m0s", "CustomResourceDefinition carts.shop.org (app.yaml): Install in progress"}},
		"a custom resource": {
			definition, cart, map[string]string{"carts.shop.org": established, "cart": "conditions: [{type: Ready, status: 'False', reason: NoDatabase, message: the database is away}]"}, nil,
			[]string{"waited 5m0s", "Cart cart (app.yaml): the database is away"},
		},
		"a hook that is deleted": {"", job("gone", "helm.sh/hook: pre-install"), nil, nil, []string{"pre-install hook Job gone (app.yaml): it was deleted before it was seen to be ready"}},
		"a Job that is deleted":  {"", job("gone", ""), nil, nil, []string{"Job gone (app.yaml) does not become ready: it was deleted before it was seen to be ready"}},
		"a kind of nobody":       {"", cart, nil, nil, []string{"create Cart cart (app.yaml): no matches for kind"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(test.status)
				if test.pod != nil {
					if err := c.client.Tracker().Add(test.pod); err != nil {
						t.Fatal(err)
					}
				}
				d, _ := c.deployment(t, test.before, test.text)
				err := d.Deploy(t.Context())
				for _, want := range test.want {
					errtest.Check(t, err, want)
				}
				if slices.Contains(c.did, "create web") && strings.Contains(name, "hook") {
					t.Error("the application was created although its hook failed")
				}
			})
		})
	}
}

// What passes by itself, or is awaited by somebody else, is not waited for.
func TestWhatIsReady(t *testing.T) {
	for name, test := range map[string]struct{ text, status string }{
		"a claim that waits for its first pod": {"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: x}\n---\n", "phase: Pending"},
		"a Job that is suspended":              {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\nspec: {suspend: true}\n---\n", "{}"},
		"a hook that is no Job":                {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, annotations: {helm.sh/hook: pre-install}}\n---\n", "{}"},
		"a hook of a Pod":                      {"apiVersion: v1\nkind: Pod\nmetadata: {name: x, annotations: {helm.sh/hook: pre-install}}\n---\n", "phase: Succeeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, _ := newCluster(map[string]string{"x": test.status}).deployment(t, "", test.text)
				errtest.Check(t, d.Deploy(t.Context()), "")
			})
		})
	}
}

// What is there already and not ours is neither replaced nor removed.
func TestWhatOthersHaveStays(t *testing.T) {
	binding := "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: theirs, namespace: kube-system}\n---\n"
	for name, test := range map[string]struct {
		kind, namespace, text string
		labels                map[string]string
		refused               bool
	}{
		"a role":                       {"ClusterRole", "", strings.Replace(role, "name: role", "name: theirs", 1), nil, true},
		"a role of an earlier run":     {"ClusterRole", "", strings.Replace(role, "name: role", "name: theirs", 1), map[string]string{workloads.LabelPartOf: workloads.PartOf}, false},
		"a binding of the cluster":     {"RoleBinding", "kube-system", binding, nil, true},
		"a role that is a hook":        {"ClusterRole", "", strings.Replace(role, "name: role", "name: theirs, annotations: {helm.sh/hook: pre-install}", 1), nil, true},
		"a role that is their part-of": {"ClusterRole", "", strings.Replace(role, "name: role", "name: theirs", 1), map[string]string{workloads.LabelPartOf: "shop"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(nil)
				theirs := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": test.kind}}
				theirs.SetName("theirs")
				theirs.SetNamespace(test.namespace)
				theirs.SetLabels(test.labels)
				plural, _ := meta.UnsafeGuessKindToResource(theirs.GroupVersionKind())
				if err := c.Tracker().Create(plural, theirs, test.namespace); err != nil {
					t.Fatal(err)
				}
				d, outside := c.deployment(t, "", test.text)
				want := ""
				if test.refused {
					want = "it exists already, and holdfast did not create it"
				}
				errtest.Check(t, d.Deploy(t.Context()), want)
				if noted := slices.Contains(*outside, "theirs"); noted == test.refused {
					t.Errorf("it will be removed: %t", noted)
				}
				if test.refused && slices.ContainsFunc(c.did, func(what string) bool { return strings.HasSuffix(what, " theirs") }) {
					t.Errorf("did %q", c.did)
				}
			})
		})
	}
}

// Objects of the application's kinds are removed while their controller runs; without a controller, their finalizers go.
func TestClear(t *testing.T) {
	for name, finalizes := range map[string]bool{"a controller finalizes": true, "nobody finalizes": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(map[string]string{"carts.shop.org": established})
				d, _ := c.deployment(t, definition, cart)
				errtest.Check(t, d.Deploy(t.Context()), "")
				released := false
				if !finalizes {
					c.PrependReactor("delete", "carts", func(ktesting.Action) (bool, runtime.Object, error) { return !released, nil, nil })
					c.PrependReactor("patch", "carts", func(action ktesting.Action) (bool, runtime.Object, error) {
						released = strings.Contains(string(action.(ktesting.PatchAction).GetPatch()), `"finalizers":null`)
						return true, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "shop.org/v1", "kind": "Cart"}}, nil
					})
				}
				errtest.Check(t, d.Clear(t.Context()), "")
				if released == finalizes {
					t.Errorf("finalizers were taken off: %t", released)
				}
				left, err := c.Resource(schema.GroupVersionResource{Group: "shop.org", Version: "v1", Resource: "carts"}).List(t.Context(), metav1.ListOptions{})
				if err != nil || len(left.Items) != 0 {
					t.Errorf("%v is left, %v", left, err)
				}
			})
		})
	}
}

// The objects of a kind that somebody else has defined are not touched.
func TestClearLeavesOthersKindsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(nil)
		theirs := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}}
		theirs.SetName("carts.shop.org")
		plural, _ := meta.UnsafeGuessKindToResource(theirs.GroupVersionKind())
		if err := c.Tracker().Create(plural, theirs, ""); err != nil {
			t.Fatal(err)
		}
		d, _ := c.deployment(t, definition, "")
		errtest.Check(t, d.Deploy(t.Context()), "holdfast did not create it")
		errtest.Check(t, d.Clear(t.Context()), "")
		if slices.ContainsFunc(c.Actions(), func(a ktesting.Action) bool { return a.GetResource().Resource == "carts" }) {
			t.Error("it asked for their carts")
		}
	})
}

// A pod that is created as such is refused when it is applied. What to do about it is said there, as it is where a controller's pods are refused.
func TestWhatAnApplicationNeedsToBeTrustedIsSaid(t *testing.T) {
	const bare = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: c, image: i}]}\n---\n"
	hook := strings.Replace(bare, "{name: x}", "{name: x, annotations: {helm.sh/hook: pre-install}}", 1)
	for name, test := range map[string]struct {
		before, text, refusal string
		said                  bool
	}{
		"a pod":             {"", bare, `violates PodSecurity "baseline:latest": hostPath volumes`, true},
		"what comes before": {bare, "", `violates PodSecurity "baseline:v1.30": privileged`, true},
		"a hook":            {"", hook, `violates PodSecurity "baseline:latest": host namespaces`, true},
		"a stricter level":  {"", bare, `violates PodSecurity "restricted:latest": runAsNonRoot`, false}, // which the file asked for
		"a quota":           {"", bare, "exceeded quota", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(map[string]string{})
				d, _ := c.deployment(t, test.before, test.text)
				c.PrependReactor("patch", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
					return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "x", errors.New(test.refusal))
				})
				err := d.Deploy(t.Context())
				errtest.Check(t, err, test.refusal)
				if strings.HasSuffix(err.Error(), ": "+workloads.HowToTrust) != test.said {
					t.Error(err)
				}
			})
		})
	}
}
