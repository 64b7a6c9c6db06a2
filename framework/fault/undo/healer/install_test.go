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

	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/workloads"
)

var home = workloads.Place{Namespace: hold.Namespace, Image: "holdfast:1"}

func healerOf(run string) workloads.Healer {
	return workloads.Healer{Run: run, Account: "holdfast-healer"}
}

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

// A healer is installed beside a run, and removed by its labels. The healer of another run stays.
func TestInstallAndRemove(t *testing.T) {
	client := ready(t)
	if err := Install(t.Context(), client, healerOf("run-1"), home); err != nil {
		t.Fatal(err)
	}
	err := Install(t.Context(), client, healerOf("run-2"), home)
	if !apierrors.IsAlreadyExists(err) || !strings.Contains(err.Error(), "install the healer: create PodDisruptionBudget healer: ") {
		t.Errorf("beside another: %v", err)
	}
	if is, err := Installed(t.Context(), client, home.Namespace); !is || err != nil {
		t.Errorf("installed %t, %v", is, err)
	}
	removed, err := Remove(t.Context(), client, home.Namespace, "run-2")
	if err != nil || len(removed) > 0 {
		t.Errorf("removed %q of a run that has none, %v", removed, err)
	}
	removed, err = Remove(t.Context(), client, home.Namespace, "")
	if diff := cmp.Diff([]string{"Deployment healer", "PodDisruptionBudget healer"}, removed); diff != "" || err != nil {
		t.Errorf("%v, removed (-want +got):\n%s", err, diff)
	}
	if removed, err = Remove(t.Context(), client, home.Namespace, ""); err != nil || len(removed) > 0 {
		t.Errorf("again: %q, %v", removed, err)
	}
}

// A run that is killed while it installs the healer leaves a part of it, which is found and removed.
func TestAPartOfAHealerIsFound(t *testing.T) {
	client := ready(t)
	if err := Install(t.Context(), client, healerOf("run-1"), home); err != nil {
		t.Fatal(err)
	}
	if err := client.AppsV1().Deployments(home.Namespace).Delete(t.Context(), workloads.HealerName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if is, err := Installed(t.Context(), client, home.Namespace); !is || err != nil {
		t.Errorf("found %t, %v", is, err)
	}
	removed, err := Remove(t.Context(), client, home.Namespace, "")
	if diff := cmp.Diff([]string{"PodDisruptionBudget healer"}, removed); diff != "" || err != nil {
		t.Errorf("%v, removed (-want +got):\n%s", err, diff)
	}
	if is, err := Installed(t.Context(), client, home.Namespace); is || err != nil {
		t.Errorf("afterwards: found %t, %v", is, err)
	}
}

// A Deployment of another owner that has the name of a healer stays.
func TestOnlyAHealerIsRemoved(t *testing.T) {
	client := ready(t)
	other := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: home.Namespace, Name: workloads.HealerName, Labels: map[string]string{workloads.LabelPartOf: "shop"}}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(1))}}
	if _, err := client.AppsV1().Deployments(home.Namespace).Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if removed, err := Remove(t.Context(), client, home.Namespace, ""); len(removed) > 0 || err != nil {
		t.Errorf("removed %q, %v", removed, err)
	}
}

// A healer that cannot be installed as a whole leaves nothing.
func TestAHealerIsInstalledAsAWhole(t *testing.T) {
	client := ready(t)
	client.PrependReactor("create", "deployments", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "x", errors.New("not today"))
	})
	if err := Install(t.Context(), client, healerOf("run-1"), home); !apierrors.IsForbidden(err) {
		t.Errorf("%v", err)
	}
	left, err := client.PolicyV1().PodDisruptionBudgets(home.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("%d budgets are left, %v", len(left.Items), err)
	}
}
