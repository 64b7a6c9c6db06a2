package environment

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

func TestMakeNamespace(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*testing.T, *Environment, *clustertest.Cluster)
		want  string // in the error; empty: none
	}{
		"there is none": {func(*testing.T, *Environment, *clustertest.Cluster) {}, ""},
		"the answer to the first try never came": {func(t *testing.T, env *Environment, _ *clustertest.Cluster) {
			errtest.Check(t, env.makeNamespace(t.Context()), "")
		}, ""},
		"an earlier run's is going": {func(t *testing.T, env *Environment, fake *clustertest.Cluster) {
			fake.Keep = true
			makeAndDelete(t, env)
			time.AfterFunc(5*time.Second, func() {
				fake.Forget("/api/v1/namespaces/hf-chaos-quiet")
			})
		}, ""},
		"an earlier run's stays": {func(t *testing.T, env *Environment, fake *clustertest.Cluster) {
			fake.Keep = true
			makeAndDelete(t, env)
		}, "waited 2m0s for namespace hf-chaos-quiet of an earlier run to be gone: last seen Terminating"},
		"another run uses it": {func(t *testing.T, env *Environment, _ *clustertest.Cluster) {
			errtest.Check(t, env.makeNamespace(t.Context()), "")
			env.Token = "another's"
		}, "namespace hf-chaos-quiet is there already, and this run has not made it: a run that was killed has left it, " +
			"or another program uses it; 'holdfast heal 0' removes it"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env, fake, _ := newEnvironment(t, quiet())
				test.spoil(t, env, fake)
				errtest.Check(t, env.makeNamespace(t.Context()), test.want)
			})
		})
	}
}

// TestANamespaceIsMadeOnceItTakesPods: its service account is the controller manager's to make.
func TestANamespaceIsMadeOnceItTakesPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env, fake, _ := newEnvironment(t, quiet())
		fake.Refuse = func(_, path string) *apierrors.StatusError {
			if strings.HasSuffix(path, "/serviceaccounts/default") {
				return apierrors.NewNotFound(corev1.Resource("serviceaccounts"), "default")
			}
			return nil
		}
		errtest.Check(t, env.makeNamespace(t.Context()), "waited 2m0s for namespace hf-chaos-quiet to have its service account: ")
	})
}

func makeAndDelete(t *testing.T, env *Environment) {
	t.Helper()
	errtest.Check(t, env.makeNamespace(t.Context()), "")
	errtest.Check(t, env.emptyNamespaces(t.Context()), "")
}

func TestEmptyNamespace(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*clustertest.Cluster)
		want  string // in the error; empty: none
	}{
		"it goes":           {func(*clustertest.Cluster) {}, ""},
		"it was never made": {func(t *clustertest.Cluster) { t.Forget("/api/v1/namespaces/hf-chaos-quiet") }, ""},
		"its Service stays": {
			func(t *clustertest.Cluster) { t.Keep = true },
			"waited 2m0s for namespace hf-chaos-quiet to be empty: last seen 0 pods, 1 Services",
		},
		"it may not be deleted": {
			func(t *clustertest.Cluster) {
				t.Refuse = func(method, _ string) *apierrors.StatusError {
					if method == http.MethodDelete {
						return apierrors.NewUnauthorized("who are you?")
					}
					return nil
				}
			},
			"delete namespace hf-chaos-quiet: who are you?",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env, fake, _ := newEnvironment(t, quiet())
				objects, err := env.wanted(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				ours := workloads.Namespace(env.namespace)
				ours.Annotations = map[string]string{madeBy: env.Token}
				if err := env.create(t.Context(), append([]workloads.Object{ours}, objects...)...); err != nil {
					t.Fatal(err)
				}
				test.spoil(fake)
				began := time.Now()
				errtest.Check(t, env.emptyNamespaces(t.Context()), test.want)
				if took := time.Since(began); test.want == "" && took > 0 {
					t.Errorf("took %s for what goes at once", took)
				}
				left := len(fake.List("/api/v1/namespaces/hf-chaos-quiet/pods")) +
					len(fake.List("/api/v1/namespaces/hf-chaos-quiet/services"))
				if test.want == "" && name != "it was never made" && left > 0 {
					t.Errorf("%d pods and Services are left", left)
				}
			})
		})
	}
}

// A run that is refused because another one uses its namespace removed that namespace afterwards, and with it the other's pods.
func TestARefusedRunLeavesTheOthersNamespaceAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, fake, _ := newEnvironment(t, quiet())
		errtest.Check(t, first.makeNamespace(t.Context()), "")
		other := first.Options
		other.Token = "another's"
		second := New(other)
		errtest.Check(t, second.connect(), "")
		errtest.Check(t, second.makeNamespace(t.Context()), "is there already, and this run has not made it")
		errtest.Check(t, second.Clear(t.Context()), "")
		if fake.Get("/api/v1/namespaces/hf-chaos-quiet") == nil {
			t.Fatal("the refused run has removed the namespace of the first")
		}
		errtest.Check(t, first.Clear(t.Context()), "")
		if fake.Get("/api/v1/namespaces/hf-chaos-quiet") != nil {
			t.Error("the first run has not removed its own")
		}
	})
}

// A namespace that another run made between our look and our deletion is not deleted: the deletion is for one UID.
func TestADeletionIsForOneNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env, fake, _ := newEnvironment(t, quiet())
		errtest.Check(t, env.makeNamespace(t.Context()), "")
		var only string
		uid := string(fake.Get("/api/v1/namespaces/hf-chaos-quiet").GetUID())
		fake.Sent = func(method, path, body string) {
			if method == http.MethodDelete && strings.HasSuffix(path, "/hf-chaos-quiet") {
				only = body
			}
		}
		errtest.Check(t, env.Clear(t.Context()), "")
		if uid == "" || !strings.Contains(only, uid) {
			t.Errorf("deleted with %s, and not by its UID", only)
		}
	})
}

// The API server refuses; nothing is known of the namespace, so nothing is deleted, and the reason is said.
func TestANamespaceThatCannotBeLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env, fake, _ := newEnvironment(t, quiet())
		errtest.Check(t, env.makeNamespace(t.Context()), "")
		fake.Refuse = func(string, string) *apierrors.StatusError { return apierrors.NewUnauthorized("who are you?") }
		errtest.Check(t, env.emptyNamespaces(t.Context()), "look at namespace hf-chaos-quiet: who are you?")
	})
}

// The namespaces of operators are made, marked and removed as the scenario's own; what their manifests say of them is kept.
func TestFurtherNamespaces(t *testing.T) {
	const at = "/api/v1/namespaces/operators"
	operators := app.Namespace{Name: "operators", Labels: map[string]string{"team": "platform", workloads.LabelPartOf: "shop"}, Annotations: map[string]string{"a": "b"}}
	synctest.Test(t, func(t *testing.T) {
		env, fake, _ := newEnvironment(t, quiet())
		errtest.Check(t, env.makeNamespace(t.Context()), "")
		errtest.Check(t, env.makeFurther(t.Context(), operators), "")
		made := fake.Get(at)
		want := map[string]string{
			"team": "platform", workloads.LabelPartOf: workloads.PartOf, workloads.LabelComponent: workloads.ComponentApp, workloads.LabelName: "operators",
			workloads.LabelEnforce: "baseline", "pod-security.kubernetes.io/enforce-version": "latest",
		}
		if diff := cmp.Diff(want, made.GetLabels()); diff != "" || made.GetAnnotations()["a"] != "b" || made.GetAnnotations()[madeBy] != env.Token {
			t.Errorf("annotations %v, labels (-want +got):\n%s", made.GetAnnotations(), diff)
		}
		errtest.Check(t, env.Clear(t.Context()), "")
		if left := fake.List("/api/v1/namespaces"); len(left) != 1 { // kube-system
			t.Errorf("%v are left", left)
		}
	})
	for name, test := range map[string]struct {
		labels map[string]string
		token  string
		want   string
	}{
		"somebody else's": {nil, "", "namespace operators is there already, and holdfast has not made it: remove it, or name another in the manifests of the test"},
		"another run's":   {map[string]string{workloads.LabelPartOf: workloads.PartOf}, "another's", "this run has not made it"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env, fake, _ := newEnvironment(t, quiet())
				fake.Put("/api/v1/namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "operators", Labels: test.labels, Annotations: map[string]string{madeBy: test.token}}})
				errtest.Check(t, env.makeFurther(t.Context(), operators), test.want)
				errtest.Check(t, env.Clear(t.Context()), "")
				if fake.Get(at) == nil {
					t.Error("it was removed")
				}
			})
		})
	}
}

// An application's pods are held to the Pod Security level baseline, in each of its namespaces: only the file may allow more, and its manifests only less.
func TestAnApplicationIsNotPrivilegedUnlessTheFileSaysSo(t *testing.T) {
	for name, test := range map[string]struct {
		labels     map[string]string // of the manifest of the namespace
		privileged bool
		want       string
	}{
		"no manifest":                                     {nil, false, "baseline"},
		"a manifest that allows more":                     {map[string]string{workloads.LabelEnforce: "privileged", "team": "shop"}, false, "baseline"},
		"a manifest that asks for a level":                {map[string]string{workloads.LabelEnforce: "baseline"}, false, "baseline"},
		"a manifest that allows less":                     {map[string]string{workloads.LabelEnforce: "restricted"}, false, "restricted"},
		"a manifest with a typo":                          {map[string]string{workloads.LabelEnforce: "Restricted"}, false, "baseline"},
		"the file allows more":                            {nil, true, ""},
		"both allow more":                                 {map[string]string{workloads.LabelEnforce: "privileged"}, true, "privileged"},
		"the file allows more, and the manifest does not": {map[string]string{workloads.LabelEnforce: "restricted"}, true, "restricted"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := quiet()
			spec.App = &app.App{Namespace: "shop", Own: app.Namespace{Name: "shop", Labels: test.labels}, Privileged: test.privileged}
			env, fake, _ := newEnvironment(t, quiet())
			env.Spec.App, env.namespace = spec.App, "shop"
			errtest.Check(t, env.makeNamespace(t.Context()), "")
			errtest.Check(t, env.makeFurther(t.Context(), app.Namespace{Name: "operator", Labels: test.labels}), "")
			for _, namespace := range []string{"shop", "operator"} {
				labels := fake.Get("/api/v1/namespaces/" + namespace).GetLabels()
				if labels[workloads.LabelEnforce] != test.want || test.labels["team"] != labels["team"] {
					t.Errorf("namespace %s: %v, want %q", namespace, labels, test.want)
				}
			}
		})
	}
}
