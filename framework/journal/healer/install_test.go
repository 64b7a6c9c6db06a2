package healer

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/framework/hold"
	"github.com/holdfast-ha/holdfast/framework/journal/journaltest"
	"github.com/holdfast-ha/holdfast/workloads"
)

var home = workloads.Place{Namespace: hold.Namespace, Image: "holdfast:1"}

// ready is an API server whose Deployments are ready at once.
func ready(t *testing.T) *fake.Clientset {
	t.Helper()
	client := fake.NewClientset()
	deployments := appsv1.SchemeGroupVersion.WithResource("deployments")
	client.PrependReactor("get", "deployments", func(a k8stesting.Action) (bool, runtime.Object, error) {
		o, err := client.Tracker().Get(deployments, a.GetNamespace(), a.(k8stesting.GetAction).GetName())
		if err != nil {
			return true, nil, err
		}
		d := o.(*appsv1.Deployment).DeepCopy()
		d.Status.ReadyReplicas, d.Status.ObservedGeneration = *d.Spec.Replicas, d.Generation
		return true, d, nil
	})
	return client
}

// everything is of what a healer consists, in the order in which it is removed.
var everything = []string{
	"Deployment healer", "PodDisruptionBudget healer", "RoleBinding holdfast-healer-run-1", "Role holdfast-healer-run-1",
	"ClusterRoleBinding holdfast-healer-run-1", "ClusterRole holdfast-healer-run-1", "ServiceAccount healer",
}

// A healer is installed beside a run, and removed by its labels. The healer of another run stays.
func TestInstallAndRemove(t *testing.T) {
	client := ready(t)
	untyped := journaltest.Dynamic(client, nil)
	if err := Install(t.Context(), client, untyped, workloads.Healer{Run: "run-1"}, home); err != nil {
		t.Fatal(err)
	}
	err := Install(t.Context(), client, untyped, workloads.Healer{Run: "run-2"}, home)
	if !apierrors.IsAlreadyExists(err) || !strings.Contains(err.Error(), "install the healer: create ServiceAccount healer: ") {
		t.Errorf("beside another: %v", err)
	}
	removed, err := Remove(t.Context(), untyped, "run-2")
	if err != nil || len(removed) > 0 {
		t.Errorf("removed %q of a run that has none, %v", removed, err)
	}
	removed, err = Remove(t.Context(), untyped, "")
	if diff := cmp.Diff(everything, removed); diff != "" || err != nil {
		t.Errorf("%v, removed (-want +got):\n%s", err, diff)
	}
	if removed, err = Remove(t.Context(), untyped, ""); err != nil || len(removed) > 0 {
		t.Errorf("again: %q, %v", removed, err)
	}
}

// A healer that cannot be installed as a whole leaves nothing: a user who may not grant its Roles cannot have one.
func TestAHealerIsInstalledAsAWhole(t *testing.T) {
	client := ready(t)
	client.PrependReactor("create", "rolebindings", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "rolebindings"}, "x", errors.New("not today"))
	})
	err := Install(t.Context(), client, journaltest.Dynamic(client, nil), workloads.Healer{Run: "run-1"}, home)
	if !apierrors.IsForbidden(err) {
		t.Errorf("%v", err)
	}
	for _, list := range []func() (int, error){
		func() (int, error) {
			l, err := client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
			return len(l.Items), err
		},
		func() (int, error) {
			l, err := client.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
			return len(l.Items), err
		},
		func() (int, error) {
			l, err := client.CoreV1().ServiceAccounts(hold.Namespace).List(t.Context(), metav1.ListOptions{})
			return len(l.Items), err
		},
	} {
		if n, err := list(); n > 0 || err != nil {
			t.Errorf("%d are left, %v", n, err)
		}
	}
}
