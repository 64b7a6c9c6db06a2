package undo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
)

// world is a cluster in memory whose API server keeps managed fields, with two workers and the Deployment web of three replicas.
type world struct {
	*clustertest.Cluster
	t     testing.TB
	admin kubernetes.Interface
}

const deployments = "/apis/apps/v1/namespaces/shop/deployments"

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{Cluster: clustertest.New("demo", clusters.Spec{Zones: []string{"a", "b"}}), t: t}
	w.Owners = true
	config := w.Config()
	config.UserAgent = "kubectl/v1"
	w.admin = kubernetes.NewForConfigOrDie(config)
	labels := map[string]string{"app": "web"}
	_, err := w.admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{})
	if err == nil {
		_, err = w.admin.AppsV1().Deployments("shop").Create(t.Context(), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"},
			Spec: appsv1.DeploymentSpec{Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			}},
		}, metav1.CreateOptions{})
	}
	if err := errors.Join(err, w.Register(t.Context())); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) dynamic(through http.RoundTripper) dynamic.Interface {
	config := w.Config()
	if through != nil {
		config.Transport = through
	}
	return dynamic.NewForConfigOrDie(config)
}

func (w *world) changes(through http.RoundTripper) *Changes {
	return &Changes{Run: "run-1", Dynamic: w.dynamic(through)}
}

func (w *world) node(name string) *corev1.Node { return w.Get("/api/v1/nodes/" + name).(*corev1.Node) }

func (w *world) web() *appsv1.Deployment { return w.Get(deployments + "/web").(*appsv1.Deployment) }

// as sends a merge patch of node wa1, or of Deployment web, in the name of another client.
func (w *world) as(manager, object, how string) {
	w.t.Helper()
	o := metav1.PatchOptions{FieldManager: manager}
	var err error
	if object == "web" {
		_, err = w.admin.AppsV1().Deployments("shop").Patch(w.t.Context(), object, types.MergePatchType, []byte(how), o)
	} else {
		_, err = w.admin.CoreV1().Nodes().Patch(w.t.Context(), object, types.MergePatchType, []byte(how), o)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// changed lists what is not as it was at first.
func (w *world) changed() (all []string) {
	for _, n := range []string{"wa1", "wb1"} {
		if n := w.node(n); n.Spec.Unschedulable || n.Annotations[Annotation] != "" {
			all = append(all, "node "+n.Name)
		}
	}
	d := w.web()
	if *d.Spec.Replicas != 3 || d.Spec.Template.Annotations[RestartedAt] != "" || d.Annotations[Annotation] != "" {
		all = append(all, "web")
	}
	return all
}

// heal undoes what is noted, as another machine would.
func (w *world) heal(ctx context.Context) (out []Outcome, err error) {
	client := w.dynamic(nil)
	all, err := Find(ctx, client, Everywhere)
	for _, f := range all {
		o, failed := f.Undo(ctx, client)
		out, err = append(out, o), errors.Join(err, failed)
	}
	return out, err
}

var web = Workload("deployments", "shop", "web")

// cut is the network of a process that is killed with its n-th request, from 1. How tells what becomes of that request.
type cut struct {
	next http.RoundTripper
	at   int
	how  cutHow

	mu     sync.Mutex
	asked  int
	killed string // the request at which it was
}

type cutHow string

const (
	before cutHow = "before it is sent"
	after  cutHow = "before its answer arrives"
	slowly cutHow = "and it arrives a second later"
)

var errKilled = errors.New("killed")

func (c *cut) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killed != "" {
		return nil, errKilled
	}
	c.asked++
	if c.asked != c.at {
		return c.next.RoundTrip(r)
	}
	c.killed = r.Method + " " + r.URL.Path
	switch c.how {
	case after:
		if response, err := c.next.RoundTrip(r); err == nil {
			_ = response.Body.Close()
		}
	case slowly:
		late := r.Clone(context.Background())
		if r.Body != nil {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			late.Body = io.NopCloser(bytes.NewReader(text))
		}
		time.AfterFunc(time.Second, func() {
			if response, err := c.next.RoundTrip(late); err == nil {
				_ = response.Body.Close()
			}
		})
	}
	return nil, errKilled
}
