package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/fault/journal/fingerprint"
)

// world is a cluster in memory whose API server keeps managed fields, with two workers and the Deployment web of three replicas.
type world struct {
	*clustertest.Cluster
	t       testing.TB
	admin   kubernetes.Interface // "kubectl", as far as the managed fields say
	initial map[string]fingerprint.Fields
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{Cluster: clustertest.New("demo", clusters.Spec{Zones: []string{"a", "b"}}), t: t}
	w.Owners = true
	config := w.Config()
	config.UserAgent = "kubectl/v1"
	w.admin = kubernetes.NewForConfigOrDie(config)
	ctx := t.Context()
	labels := map[string]string{"app": "web"}
	one := intstr.FromInt32(1)
	_, err := w.admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{})
	if err == nil {
		_, err = w.admin.AppsV1().Deployments("shop").Create(ctx, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"},
			Spec: appsv1.DeploymentSpec{Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			}},
		}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = w.admin.PolicyV1().PodDisruptionBudgets("shop").Create(ctx, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"},
			Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Register(ctx); err != nil {
		t.Fatal(err)
	}
	w.initial = w.print()
	return w
}

// print is the fingerprint of everything that lasts: all but pods, and what is in holdfast's own namespace.
func (w *world) print() map[string]fingerprint.Fields {
	all := map[string]fingerprint.Fields{}
	j := &Journal{o: Options{Dynamic: dynamic.NewForConfigOrDie(w.Config())}}
	for _, of := range []Object{
		allNodes, Workload("deployments", "shop", ""), budgetsOf("shop"), {Version: "v1", Resource: "configmaps", Namespace: "shop"},
		{Version: "v1", Resource: "services", Namespace: "shop"}, {Group: "apps", Version: "v1", Resource: "daemonsets", Namespace: "shop"},
	} {
		s, _, err := j.take(context.Background(), of, "salt")
		if err != nil {
			w.t.Fatal(err)
		}
		for name, fields := range s.Print {
			all[of.String()+name] = fields
		}
	}
	return all
}

// differences are those from the beginning, in words.
func (w *world) differences() (all []string) {
	for _, d := range fingerprint.Diff(w.initial, w.print()) {
		all = append(all, fmt.Sprintf("%s %s: %s, now %s", d.Name, d.Field, d.Before, d.Now))
	}
	return all
}

// journals counts the ConfigMaps of journals.
func (w *world) journals() int { return len(w.List("/api/v1/namespaces/holdfast/configmaps")) }

// options are those of a run whose requests go through a transport; nil: straight to the API server.
func (w *world) options(run string, through http.RoundTripper) Options {
	config := w.Config()
	if through != nil {
		config.Transport = through
	}
	return Options{
		Run: run, Command: "holdfast test", Client: kubernetes.NewForConfigOrDie(config), Dynamic: dynamic.NewForConfigOrDie(config),
		File: filepath.Join(w.t.TempDir(), "journal.jsonl"),
	}
}

// as sends a patch in somebody else's name.
func (w *world) as(manager string, kind string, name, how string) {
	w.t.Helper()
	o := metav1.PatchOptions{FieldManager: manager}
	var err error
	switch kind {
	case "node":
		_, err = w.admin.CoreV1().Nodes().Patch(w.t.Context(), name, types.MergePatchType, []byte(how), o)
	default:
		_, err = w.admin.AppsV1().Deployments("shop").Patch(w.t.Context(), name, types.MergePatchType, []byte(how), o)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// pods are those of the Deployment.
func (w *world) pods() (all []corev1.Pod) {
	for _, o := range w.List("/api/v1/namespaces/shop/pods") {
		all = append(all, *o.(*corev1.Pod))
	}
	return all
}

// heal undoes the journals as another machine would, and returns what became of their entries and the unexplained differences.
func (w *world) heal(ctx context.Context) (left []string, unexplained []Difference, err error) {
	o := w.options("", nil)
	all, err := Find(ctx, Where{Client: o.Client, Dynamic: o.Dynamic})
	if err != nil {
		return nil, nil, err
	}
	for _, j := range all {
		err := errors.Join(j.TakeOver(ctx, "heal"), j.Undo(ctx))
		for _, e := range j.Entries() {
			if e.State == Left {
				left = append(left, e.String()+": "+e.Why)
			}
		}
		differ, lost := j.Differences(ctx)
		for _, d := range differ {
			if d.Why == "" {
				unexplained = append(unexplained, d)
			}
		}
		if err = errors.Join(err, lost); err == nil {
			err = j.Clear(ctx)
		}
		if err != nil {
			return left, unexplained, err
		}
	}
	return left, unexplained, nil
}

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

// check compares lists of lines.
func check(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	ok := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		ok = ok && strings.Contains(got[i], want[i])
	}
	if !ok {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
