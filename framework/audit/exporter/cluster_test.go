package exporter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/workloads"
)

const shop = "shop"

// spread are nodes in each of three zones, two a zone.
var spread = []string{"a1", "a2", "b1", "b2", "c1", "c2"}

// fakeCluster is a cluster with two nodes in each of three zones, a1 to c2.
type fakeCluster struct {
	t      *testing.T
	client *fake.Clientset
	mu     sync.Mutex
	refuse map[string]error // by resource; "*": all
	pods   int
}

// newCluster returns a cluster without workloads.
func newCluster(t *testing.T) *fakeCluster {
	t.Helper()
	all := []runtime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop}}}
	for _, name := range spread {
		all = append(all, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{workloads.Zone: name[:1], workloads.Host: name, "holdfast.dev/role": "worker"},
		}})
	}
	c := &fakeCluster{t: t, client: fake.NewClientset(all...), refuse: map[string]error{}}
	c.client.PrependReactor("*", "*", func(a k8stesting.Action) (bool, runtime.Object, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if err := c.refuse["*"]; err != nil {
			return true, nil, err
		}
		err := c.refuse[a.GetResource().Resource]
		return err != nil, nil, err
	})
	return c
}

// forbid makes the API server refuse all requests for a resource, until allow.
func (c *fakeCluster) forbid(resource string) {
	c.set(resource, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("not for you")))
}

// away makes the API server unreachable, until allow.
func (c *fakeCluster) away() { c.set("*", errors.New("connection refused")) }

// allow ends every forbid and away.
func (c *fakeCluster) allow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.refuse)
}

func (c *fakeCluster) set(resource string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse[resource] = err
}

// deploy plants a Deployment of good practice, or of what the backend changes, with its Service, budget and pods on the nodes.
func (c *fakeCluster) deploy(name string, b workloads.Backend, on ...string) {
	c.t.Helper()
	b.Name, b.Replicas = name, int32(len(on))
	objects, err := b.Objects(workloads.Place{Namespace: shop, Image: "x"})
	c.must(err)
	ctx, create := context.WithoutCancel(c.t.Context()), metav1.CreateOptions{}
	for _, o := range objects {
		o.SetUID(types.UID("uid of " + name))
		switch o := o.(type) {
		case *corev1.Service:
			_, err = c.client.CoreV1().Services(shop).Create(ctx, o, create)
		case *policyv1.PodDisruptionBudget:
			_, err = c.client.PolicyV1().PodDisruptionBudgets(shop).Create(ctx, o, create)
		case *appsv1.Deployment:
			_, err = c.client.AppsV1().Deployments(shop).Create(ctx, o, create)
			c.must(err)
			set := &appsv1.ReplicaSet{ObjectMeta: owned(name+"-1", "uid of set "+name, "Deployment", name, o.UID)}
			_, err = c.client.AppsV1().ReplicaSets(shop).Create(ctx, set, create)
		default:
			c.t.Fatalf("a %T is not planted", o)
		}
		c.must(err)
	}
	c.place(name, on...)
}

// place replaces a Deployment's pods by pods on these nodes.
func (c *fakeCluster) place(name string, on ...string) {
	c.t.Helper()
	c.removePods(name)
	for _, node := range on {
		c.addPod(name, func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = node, corev1.PodRunning })
	}
}

// stuck adds a pod that the scheduler has had no node for since then, and says why.
func (c *fakeCluster) stuck(name string, since time.Time, said string) {
	c.t.Helper()
	c.addPod(name, func(p *corev1.Pod) {
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: said,
			LastTransitionTime: metav1.NewTime(since),
		}}}
	})
}

func (c *fakeCluster) addPod(of string, change func(*corev1.Pod)) {
	c.t.Helper()
	c.pods++
	p := &corev1.Pod{ObjectMeta: owned(fmt.Sprintf("%s-1-%d", of, c.pods), "uid of pod", "ReplicaSet", of+"-1", types.UID("uid of set "+of))}
	p.Labels = map[string]string{workloads.LabelName: of, "pod-template-hash": "1"}
	change(p)
	_, err := c.client.CoreV1().Pods(shop).Create(context.WithoutCancel(c.t.Context()), p, metav1.CreateOptions{})
	c.must(err)
}

func (c *fakeCluster) removePods(of string) {
	c.t.Helper()
	ctx := context.WithoutCancel(c.t.Context())
	pods, err := c.client.CoreV1().Pods(shop).List(ctx, metav1.ListOptions{LabelSelector: workloads.LabelName + "=" + of})
	c.must(err)
	for _, p := range pods.Items {
		c.must(c.client.CoreV1().Pods(shop).Delete(ctx, p.Name, metav1.DeleteOptions{}))
	}
}

// remove removes a Deployment with all that deploy planted.
func (c *fakeCluster) remove(name string) {
	c.t.Helper()
	c.removePods(name)
	ctx, now := context.WithoutCancel(c.t.Context()), metav1.DeleteOptions{}
	c.must(c.client.AppsV1().ReplicaSets(shop).Delete(ctx, name+"-1", now))
	c.must(c.client.AppsV1().Deployments(shop).Delete(ctx, name, now))
	for _, err := range []error{
		c.client.CoreV1().Services(shop).Delete(ctx, name, now), c.client.PolicyV1().PodDisruptionBudgets(shop).Delete(ctx, name, now),
	} {
		if !apierrors.IsNotFound(err) {
			c.must(err)
		}
	}
}

func (c *fakeCluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func owned(name, uid, kind, by string, byUID types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: shop, Name: name, UID: types.UID(uid),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: by, UID: byUID, Controller: new(true)}},
	}
}
