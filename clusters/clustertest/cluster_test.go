package clustertest

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
)

func newCluster(t *testing.T) (*Cluster, kubernetes.Interface) {
	t.Helper()
	c := New("demo", clusters.Spec{Zones: []string{"a", "b"}})
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	return c, client
}

// deploy creates a namespace and a Deployment with two replicas, and returns the number of ready pods.
func deploy(ctx context.Context, t *testing.T, client kubernetes.Interface) (ready int) {
	t.Helper()
	if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "web"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
		},
	}
	if _, err := client.AppsV1().Deployments("ns").Create(ctx, d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pods, err := client.CoreV1().Pods("ns").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		if len(p.Status.Conditions) > 0 && p.Status.Conditions[0].Status == corev1.ConditionTrue {
			ready++
		}
	}
	return ready
}

func TestControllersAct(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Cluster)
		ready  int
		stored bool
	}{
		"at once":    {func(*Cluster) {}, 2, true},
		"not at all": {func(c *Cluster) { c.Frozen = true }, 0, true},
		"on nothing": {func(c *Cluster) { c.Deaf = true }, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, client := newCluster(t)
			test.change(c)
			if got := deploy(t.Context(), t, client); got != test.ready {
				t.Errorf("%d pods are ready, want %d", got, test.ready)
			}
			if stored := c.Get("/apis/apps/v1/namespaces/ns/deployments/web") != nil; stored != test.stored {
				t.Errorf("stored: %t, want %t", stored, test.stored)
			}
			if want := []string{"POST /api/v1/namespaces", "POST /apis/apps/v1/namespaces/ns/deployments"}; !slices.Equal(c.Asked(), want) {
				t.Errorf("asked %q, want %q", c.Asked(), want)
			}
		})
	}
}

// A watch sees changes, in a synctest bubble as well.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client := newCluster(t)
		list, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		watched, err := client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		defer watched.Stop()
		time.AfterFunc(time.Hour, func() {
			c.EditNode("wb1", func(n *corev1.Node) { n.Spec.Unschedulable = true })
		})
		event := <-watched.ResultChan()
		if n := event.Object.(*corev1.Node); n.Name != "wb1" || !n.Spec.Unschedulable {
			t.Errorf("saw %+v", event)
		}
	})
}

func TestNodesAreLostAndComeBack(t *testing.T) {
	c, client := newCluster(t)
	ready := func() corev1.ConditionStatus {
		n, err := client.CoreV1().Nodes().Get(t.Context(), "wa1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return n.Status.Conditions[0].Status
	}
	check := func(state clusters.NodeState, silent bool, want corev1.ConditionStatus) {
		t.Helper()
		now, err := c.Node("wa1").State(t.Context())
		quiet, _ := c.Node("wa1").Silent(t.Context())
		if err != nil || now != state || quiet != silent || ready() != want {
			t.Errorf("%s, silent %t, Ready=%s, %v", now, quiet, ready(), err)
		}
	}
	n := c.Node("wa1")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(n.Pause(t.Context()))
	check(clusters.Paused, true, corev1.ConditionUnknown)
	if err := n.Start(t.Context()); err == nil {
		t.Error("a paused node was started")
	}
	must(n.Resume(t.Context()))
	check(clusters.Running, false, corev1.ConditionTrue)
	must(n.Kill(t.Context()))
	check(clusters.Exited, true, corev1.ConditionUnknown)
	must(n.Start(t.Context()))
	n.Idle = true
	must(n.Stop(t.Context()))
	check(clusters.Running, false, corev1.ConditionTrue)
}

// Refuse is called without the server's lock, so that it can read the server.
func TestRefuse(t *testing.T) {
	c, client := newCluster(t)
	c.Refuse = func(method, path string) *apierrors.StatusError {
		if method == http.MethodDelete && c.Get(path) != nil {
			return apierrors.NewForbidden(corev1.Resource("nodes"), "wa1", nil)
		}
		return nil
	}
	if err := client.CoreV1().Nodes().Delete(t.Context(), "wa1", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("got %v", err)
	}
	if err := client.CoreV1().Nodes().Delete(t.Context(), "wz1", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}
