//go:build e2e

package disturb_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/disturb"
	"github.com/holdfast-ha/holdfast/framework/disturb/catalogue"
	"github.com/holdfast-ha/holdfast/framework/disturb/show"
	"github.com/holdfast-ha/holdfast/framework/hold"
	"github.com/holdfast-ha/holdfast/framework/journal"
	"github.com/holdfast-ha/holdfast/framework/poll"
)

// No command injects faults into a cluster that holdfast did not make yet. What these tests kill is this harness, a process of its own: it does what
// the document of `holdfast plan -o json` says, and nothing else, by the journal. A later command can do the same.

// harnessKey is the variable that makes this test binary a harness: its value is an order as JSON.
const harnessKey = "HOLDFAST_E2E_HARNESS"

// order is what a harness is told.
type order struct {
	Run        string
	Kubeconfig string
	Plan       string        // the file
	Journal    string        // the local copy
	Pause      time.Duration // before it undoes everything
}

// The lines by which a harness tells how far it is: each after the change that it names was made.
const (
	lineDid  = "did"      // one write, of which there are more
	lineFull = "in force" // all of the fault
	lineOver = "undone"
)

func TestMain(m *testing.M) {
	text := os.Getenv(harnessKey)
	if text == "" {
		os.Exit(m.Run())
	}
	var o order
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = o.obey(context.Background(), os.Stdout)
	}
	if err != nil {
		fmt.Println("harness:", err)
		os.Exit(1)
	}
}

// obey injects the only step of a plan, and undoes it.
func (o order) obey(ctx context.Context, out io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(o.Plan)
	if err != nil {
		return err
	}
	var d show.Document
	if err := json.Unmarshal(text, &d); err != nil {
		return err
	}
	if !d.Goes || len(d.Steps) != 1 {
		return fmt.Errorf("the plan has %d steps, and goes: %t", len(d.Steps), d.Goes)
	}
	return o.inject(ctx, config, d.Steps[0], out)
}

func (o order) inject(ctx context.Context, config *rest.Config, step disturb.Step, out io.Writer) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	held, err := hold.Take(ctx, client, o.Run, "the harness of a test", hold.Options{Cluster: "plain", Foreign: true, Context: "eve"})
	if err != nil {
		return err
	}
	j, err := journal.Open(ctx, journal.Options{
		Run: o.Run, Command: "the harness of a test", Client: client, Dynamic: dynamic.NewForConfigOrDie(config), File: o.Journal, Hold: held, Duration: step.Box.Duration,
	})
	if err != nil {
		return errors.Join(err, held.Release(ctx))
	}
	h := harness{order: o, step: step, client: client, journal: j, out: out}
	if h.evictions, err = kubernetes.NewForConfig(j.Evictions(config)); err == nil {
		err = h.all(ctx)
	}
	err = errors.Join(err, j.Undo(ctx), h.settled(ctx))
	differences, lost := j.Differences(ctx)
	for _, d := range differences {
		err = errors.Join(err, errors.New(d.String()))
	}
	if err = errors.Join(err, lost); err != nil {
		return errors.Join(err, held.Leave(ctx, err.Error()))
	}
	if err := errors.Join(j.Clear(ctx), held.Release(ctx)); err != nil {
		return err
	}
	h.tell(lineOver)
	return nil
}

// harness injects one step.
type harness struct {
	order
	step      disturb.Step
	client    kubernetes.Interface
	evictions kubernetes.Interface // may only read and evict
	journal   *journal.Journal
	out       io.Writer
}

func (h *harness) tell(line string) { _, _ = fmt.Fprintln(h.out, line) }

// all makes each write of the step, and waits.
func (h *harness) all(ctx context.Context) error {
	for _, t := range h.step.Touches {
		if err := h.touch(ctx, t); err != nil {
			return fmt.Errorf("%s: %s: %w", t.Object, t.Does, err)
		}
		h.tell(lineDid + " " + t.Object.String() + ": " + t.Does)
	}
	h.tell(lineFull)
	return poll.Pass(ctx, h.Pause)
}

// touch makes one write of the plan: the object, and the object alone, whose UID the plan has.
func (h *harness) touch(ctx context.Context, t disturb.Touch) error {
	o := t.Object
	workload := journal.Workload(t.Resource, o.Namespace, o.Name)
	switch {
	case t.Subresource == "eviction":
		return h.evict(ctx, o)
	case t.Resource == "nodes" && t.Field == "spec.unschedulable":
		_, err := h.do(ctx, o, journal.Cordon(o.Name))
		return err
	case t.Resource == "nodes":
		_, err := h.do(ctx, o, catalogue.Mark(o.Name, h.Run))
		return err
	case t.Subresource == "scale":
		return h.scale(ctx, o, workload, t.Ours)
	case t.Field == catalogue.Rollout.Edits:
		if _, err := h.do(ctx, o, journal.Restart(workload, time.Now())); err != nil {
			return err
		}
		return h.settled(ctx)
	}
	return fmt.Errorf("%s %s/%s: not known here", t.Verb, t.Resource, t.Subresource)
}

func (h *harness) do(ctx context.Context, o disturb.Object, c journal.Change) (journal.Entry, error) {
	c.UID = o.UID
	return h.journal.Do(ctx, c)
}

// scale goes through the numbers of the plan: one more, back by an undo, and one less.
func (h *harness) scale(ctx context.Context, o disturb.Object, workload journal.Object, through []string) error {
	for i, number := range through {
		n, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		if i%2 == 1 { // the former number
			err = h.journal.Undo(ctx)
		} else {
			_, err = h.do(ctx, o, journal.Scale(workload, n))
		}
		if err := errors.Join(err, h.settled(ctx)); err != nil {
			return err
		}
		h.tell(lineDid + " scale to " + number)
	}
	return nil
}

// evict evicts a pod as often as its budget refuses, and waits until it is gone and the workload is whole again.
func (h *harness) evict(ctx context.Context, o disturb.Object) error {
	return poll.Until(ctx, "pod "+o.Name+" to be evicted", 3*time.Minute, func(ctx context.Context) (bool, string, error) {
		now, err := h.client.CoreV1().Pods(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), err == nil && now.UID != o.UID:
			whole, saw, err := h.whole(ctx)
			return whole, saw, err
		case err != nil:
			return false, "", err
		case now.DeletionTimestamp != nil:
			return false, "it is ending", nil
		}
		err = h.evictions.PolicyV1().Evictions(o.Namespace).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}})
		if apierrors.IsTooManyRequests(err) {
			return false, "its budget refuses", nil
		}
		return false, "evicted", err
	})
}

// settled waits until the workload is whole.
func (h *harness) settled(ctx context.Context) error {
	return poll.Until(ctx, h.step.Workload.String()+" to settle", 3*time.Minute, h.whole)
}

// whole reports whether the Deployment has as many ready pods, of its newest revision, as it wants.
func (h *harness) whole(ctx context.Context) (bool, string, error) {
	d, err := h.client.AppsV1().Deployments(h.step.Workload.Namespace).Get(ctx, h.step.Workload.Name, metav1.GetOptions{})
	if err != nil {
		return false, "", err
	}
	s, n := d.Status, *d.Spec.Replicas
	there := []int32{s.Replicas, s.UpdatedReplicas, s.AvailableReplicas}
	if s.TerminatingReplicas != nil {
		there = append(there, n+*s.TerminatingReplicas)
	}
	other := slices.ContainsFunc(there, func(m int32) bool { return m != n })
	return !other && s.ObservedGeneration >= d.Generation, fmt.Sprintf("%v of %d", there, n), nil
}

// file is a path in a folder of its own, as that of another machine.
func file(t *testing.T, name string) string { return filepath.Join(t.TempDir(), name) }

// TestHarnessInMemory shows without a cluster that the harness does what a plan says, and that it leaves nothing. The cluster in memory has no rolling
// updates, and does not end pods that are too many.
func TestHarnessInMemory(t *testing.T) {
	for _, fault := range []string{catalogue.Rollout.Name, catalogue.DeletePod.Name, catalogue.Drain.Name} {
		t.Run(fault, func(t *testing.T) {
			name := file(t, "journal.jsonl")
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New("staging", clusters.Spec{Zones: []string{"a", "b"}})
				c.Owners = true
				client, labels := kubernetes.NewForConfigOrDie(c.Config()), map[string]string{"app": "web"}
				for _, n := range []string{"shop", "holdfast"} {
					c.Put("/api/v1/namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n, Labels: map[string]string{"app.kubernetes.io/part-of": "holdfast"}}})
				}
				web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.DeploymentSpec{
					Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}},
				}}
				web, err := client.AppsV1().Deployments("shop").Create(t.Context(), web, metav1.CreateOptions{FieldManager: "kubectl-create"})
				if err != nil {
					t.Fatal(err)
				}
				pod := c.List("/api/v1/namespaces/shop/pods")[0]
				node := c.Get("/api/v1/nodes/wa1")
				deployment := disturb.Object{Kind: disturb.KindDeployment, Namespace: "shop", Name: "web", UID: web.UID}
				evict := disturb.Touch{Object: disturb.Object{Kind: disturb.KindPod, Namespace: "shop", Name: pod.GetName(), UID: pod.GetUID()}, Resource: "pods", Subresource: "eviction"}
				on := disturb.Object{Kind: disturb.KindNode, Name: "wa1", UID: node.GetUID()}
				step := disturb.Step{Workload: deployment, Touches: map[string][]disturb.Touch{
					catalogue.Rollout.Name:   {{Object: deployment, Group: "apps", Resource: "deployments", Field: catalogue.Rollout.Edits}},
					catalogue.DeletePod.Name: {evict},
					catalogue.Drain.Name: {
						{Object: on, Resource: "nodes", Field: "metadata.annotations." + catalogue.RunMark}, {Object: on, Resource: "nodes", Field: "spec.unschedulable"}, evict,
					},
				}[fault]}
				var out bytes.Buffer
				err = order{Run: "run-1", Journal: name, Pause: time.Second}.inject(t.Context(), c.Config(), step, &out)
				if err != nil || !strings.HasSuffix(out.String(), lineFull+"\n"+lineOver+"\n") {
					t.Errorf("%v\n%s", err, &out)
				}
				if n := c.Get("/api/v1/nodes/wa1").(*corev1.Node); n.Spec.Unschedulable || n.Annotations[catalogue.RunMark] != "" {
					t.Errorf("the node is left as %+v", n)
				}
				if left := len(c.List("/api/v1/namespaces/holdfast/configmaps")) + len(c.List("/apis/coordination.k8s.io/v1/namespaces/holdfast/leases")); left > 0 {
					t.Errorf("%d journals and Leases are left", left)
				}
				t.Logf("%s\n%s", &out, strings.Join(c.Asked(), "\n"))
			})
		})
	}
}
