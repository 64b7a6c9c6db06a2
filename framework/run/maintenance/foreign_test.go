package maintenance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/fault/undo"
	"github.com/holdfast-ha/holdfast/workloads"
)

// staging is a cluster that holdfast did not make.
func staging(t *testing.T) *clustertest.Cluster {
	t.Helper()
	c := clustertest.New("staging", clusters.Spec{Zones: []string{"a", "b"}})
	c.Owners = true
	if err := c.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// killed makes changes as a run that is killed then, on this machine or on another one.
func killed(t *testing.T, c *clustertest.Cluster, here bool, changes ...undo.Change) {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(c.Config())
	if c.Get("/api/v1/namespaces/holdfast") == nil {
		if err := hold.Home(t.Context(), client, hold.Namespace); err != nil {
			t.Fatal(err)
		}
	}
	held, err := hold.Take(t.Context(), client, "run-1", "holdfast test --disturb", hold.Options{Cluster: "staging", Foreign: true, Context: "staging", Namespaces: []string{"shop"}})
	if err != nil {
		t.Fatal(err)
	}
	run := undo.Changes{Run: "run-1", Dynamic: dynamic.NewForConfigOrDie(c.Config()), Hold: held}
	for _, change := range changes {
		if err := run.Do(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	held.Drop()
	const at = "/apis/coordination.k8s.io/v1/namespaces/holdfast/leases/cluster"
	lease := c.Get(at).(*coordinationv1.Lease).DeepCopy()
	var who hold.Holder
	if err := json.Unmarshal([]byte(lease.Annotations["holdfast.dev/holder"]), &who); err != nil {
		t.Fatal(err)
	}
	if who.Began += "1"; !here { // as if another process had its number
		who.Host, who.Machine = "laptop", "another"
	}
	text, err := json.Marshal(who)
	if err != nil {
		t.Fatal(err)
	}
	lease.Annotations["holdfast.dev/holder"] = string(text)
	c.Put(filepath.Dir(at), lease)
}

func cordon(node string) undo.Change { return undo.Cordon(undo.Node(node)) }

func (f Foreign) on(c *clustertest.Cluster) (Foreign, *bytes.Buffer) {
	var out bytes.Buffer
	f.Access, f.Out = existing.Of("staging", "default", c.Config()), &out
	return f, &out
}

func checkLines(t *testing.T, what, got string, want ...string) {
	t.Helper()
	if lines := strings.TrimSuffix(strings.ReplaceAll(got, "staging: ", ""), "\n"); lines != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant\n%s", what, lines, strings.Join(want, "\n"))
	}
}

// TestForeignHeal undoes what a killed run has left, from a machine that knows nothing of it, and leaves nothing of holdfast. A second heal writes
// nothing at all.
func TestForeignHeal(t *testing.T) {
	for name, here := range map[string]bool{"on the machine of the run": true, "on another machine": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := staging(t)
				killed(t, c, here, cordon("wa1"), cordon("wb1"))
				c.Put("/api/v1/namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
					Name: "holdfast-load-x7", Labels: map[string]string{workloads.LabelPartOf: workloads.PartOf},
					Annotations: hold.Expiring(time.Now().Add(-time.Minute)),
				}})
				f, out := Foreign{}.on(c)
				asked := len(c.Asked())
				if err := f.DryRun(t.Context()); err != nil || len(c.Asked()) != asked {
					t.Errorf("dry run: %v, it wrote %q", err, c.Asked()[asked:])
				}
				for _, want := range []string{
					"the cluster is held by run-1 (holdfast test --disturb; process ", "run run-1: would undo: spec.unschedulable of nodes/wa1 is to hold nothing\n",
					"run run-1: would undo: spec.unschedulable of nodes/wb1 is to hold nothing\n", "would remove namespace holdfast-load-x7, whose time has passed\n", "would remove namespace holdfast\n",
				} {
					if !strings.Contains(out.String(), want) {
						t.Errorf("dry run says\n%s\nwant %s", out, want)
					}
				}
				out.Reset()
				if err := f.Heal(t.Context()); err != nil {
					t.Error(err)
				}
				want := []string{
					"released the cluster from run-1", "run run-1: undone: spec.unschedulable of nodes/wa1 holds nothing again",
					"run run-1: undone: spec.unschedulable of nodes/wb1 holds nothing again",
					"removed namespace holdfast-load-x7, whose time had passed", "removed namespace holdfast", "healed",
				}
				if !here {
					want = append([]string{"waiting 30s for a sign of life from run-1, which ran on another machine"}, want...)
				}
				checkLines(t, "heal", out.String(), want...)
				for _, name := range []string{"wa1", "wb1"} {
					if n := c.Get("/api/v1/nodes/" + name).(*corev1.Node); n.Spec.Unschedulable || n.Annotations[undo.Annotation] != "" {
						t.Errorf("%s is cordoned, or has a note", name)
					}
				}
				time.Sleep(time.Minute)
				out.Reset()
				asked = len(c.Asked())
				if err := f.Heal(t.Context()); err != nil || len(c.Asked()) != asked {
					t.Errorf("again: %v, it wrote %q", err, c.Asked()[asked:])
				}
				checkLines(t, "again", out.String(), "nothing to heal")
			})
		})
	}
}

// A user who may list workloads in the run's namespace alone heals what the run has changed there: the Lease names the namespace.
func TestForeignHealWithFewRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := staging(t)
		labels := map[string]string{"app": "web"}
		_, err := kubernetes.NewForConfigOrDie(c.Config()).AppsV1().Deployments("shop").Create(t.Context(), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
			Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		killed(t, c, true, undo.Scale(undo.Workload("deployments", "shop", "web"), 3))
		c.Refuse = func(_, path string) *apierrors.StatusError {
			if path == "/apis/apps/v1/deployments" || path == "/apis/apps/v1/statefulsets" {
				return apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: filepath.Base(path)}, "", nil)
			}
			return nil
		}
		f, out := Foreign{}.on(c)
		if err := f.Heal(t.Context()); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		web := c.Get("/apis/apps/v1/namespaces/shop/deployments/web").(*appsv1.Deployment)
		if *web.Spec.Replicas != 2 || web.Annotations[undo.Annotation] != "" || !strings.Contains(out.String(), "looked on nodes, and in shop\n") {
			t.Errorf("%d replicas\n%s", *web.Spec.Replicas, out)
		}
		out.Reset()
		c.Refuse = func(_, path string) *apierrors.StatusError {
			if strings.HasPrefix(path, "/apis/apps/") && path != "/apis/apps/v1/namespaces/holdfast/deployments/healer" {
				return apierrors.NewForbidden(schema.GroupResource{Group: "apps"}, "", nil)
			}
			return nil
		}
		if err := f.Heal(t.Context()); err != nil || !strings.Contains(out.String(), "only nodes were looked at") || !strings.Contains(out.String(), "nothing to heal") {
			t.Errorf("without a Lease: %v\n%s", err, out)
		}
	})
}

// TestForeignHealSaysWhatItLeaves: it does not overwrite another client's change, and that is no error.
func TestForeignHealSaysWhatItLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := staging(t)
		killed(t, c, true, cordon("wa1"))
		for _, how := range []string{`{"spec":{"unschedulable":false}}`, `{"spec":{"unschedulable":true}}`} {
			_, err := kubernetes.NewForConfigOrDie(c.Config()).CoreV1().Nodes().Patch(t.Context(), "wa1", "application/merge-patch+json",
				[]byte(how), metav1.PatchOptions{FieldManager: "kubectl-cordon"})
			if err != nil {
				t.Fatal(err)
			}
		}
		f, out := Foreign{}.on(c)
		if err := f.Heal(t.Context()); err != nil {
			t.Error(err)
		}
		checkLines(t, "heal", out.String(), "released the cluster from run-1",
			"run run-1: left as it is: spec.unschedulable of nodes/wa1: it holds what run run-1 had set (true), but another client has set it since",
			"removed namespace holdfast", "healed")
		if !c.Get("/api/v1/nodes/wa1").(*corev1.Node).Spec.Unschedulable {
			t.Error("it is uncordoned")
		}
	})
}

// TestForeignHealRefusesARunThatLives, here and on another machine, and touches nothing.
func TestForeignHealRefusesARunThatLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := staging(t)
		client := kubernetes.NewForConfigOrDie(c.Config())
		held, err := hold.Take(t.Context(), client, "run-1", "holdfast test", hold.Options{Cluster: "staging"})
		if err != nil {
			t.Fatal(err)
		}
		defer held.Drop()
		f, _ := Foreign{}.on(c)
		asked := len(c.Asked())
		err = f.Heal(t.Context())
		if err == nil || !strings.Contains(err.Error(), "cluster staging is in use since") || !strings.HasSuffix(err.Error(), ": wait until it ends") || len(c.Asked()) != asked {
			t.Errorf("%v; it wrote %q", err, c.Asked()[asked:])
		}
	})
}

// TestForeignHealRunsNoCommandOfTheCluster: a node that a command has taken away is brought back by the caller's own command, or not at all. The rest is
// undone in either case.
func TestForeignHealRunsNoCommandOfTheCluster(t *testing.T) {
	c := staging(t)
	mark := filepath.Join(t.TempDir(), "undone")
	killed(t, c, true, cordon("wa1"), undo.Take(undo.Node("wb1")))
	f, out := Foreign{}.on(c)
	err := f.Heal(t.Context())
	if err == nil || !strings.Contains(err.Error(), "has taken node wb1 away") || !strings.Contains(err.Error(), "--app FILE") {
		t.Errorf("%v\n%s", err, out)
	}
	if c.Get("/api/v1/nodes/wa1").(*corev1.Node).Spec.Unschedulable {
		t.Error("the rest was not undone")
	}
	f, out = Foreign{BringBack: `printf %s "$NODE" > ` + mark}.on(c)
	if err := f.Heal(t.Context()); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if node, err := os.ReadFile(mark); err != nil || string(node) != "wb1" {
		t.Errorf("brought back %q, %v", node, err)
	}
	if !strings.Contains(out.String(), "run run-1: running disturb.nodeKill.undo for node wb1\n") || c.Get("/api/v1/nodes/wb1").GetAnnotations()[undo.Annotation] != "" {
		t.Errorf("it does not name what it runs, or the note is left:\n%s", out)
	}
	failing := staging(t)
	killed(t, failing, true, undo.Take(undo.Node("wb1")))
	f, _ = Foreign{BringBack: "exit 3"}.on(failing)
	if err := f.Heal(t.Context()); err == nil || failing.Get("/api/v1/nodes/wb1").GetAnnotations()[undo.Annotation] == "" {
		t.Errorf("the node is not back, and its note is gone: %v", err)
	}
}

// A heal sends nothing but what undoes changes of a run and removes objects of holdfast, also if it is made to try something else.
func TestAHealIsLimited(t *testing.T) {
	home := hold.Namespace
	for p, may := range map[existing.Permission]bool{
		{Verb: "delete", Resource: "namespaces", Name: "holdfast-load-x"}:                                    true,
		{Verb: "delete", Resource: "configmaps", Namespace: home, Name: "holdfast-run-1"}:                    false,
		{Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: home, Name: "cluster"}: true,

		{Verb: "delete", Resource: "namespaces", Name: "payments"}:                                                    false,
		{Verb: "patch", Resource: "namespaces", Name: "holdfast-load-x"}:                                              false,
		{Verb: "delete", Resource: "nodes", Name: "w1"}:                                                               false,
		{Verb: "patch", Resource: "nodes", Subresource: "status", Name: "w1"}:                                         false,
		{Verb: "delete", Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}:                      false,
		{Verb: "patch", Group: "apps", Resource: "daemonsets", Namespace: "shop", Name: "agent"}:                      false,
		{Verb: "patch", Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Name: "admin"}:                  false,
		{Verb: "delete", Resource: "configmaps", Namespace: "shop", Name: "settings"}:                                 false,
		{Verb: "delete", Resource: "secrets", Namespace: home, Name: "pull"}:                                          false,
		{Verb: "create", Resource: "pods", Subresource: "eviction", Namespace: "shop", Name: "web-1"}:                 false,
		{Verb: "create", Resource: "pods", Namespace: home}:                                                           false,
		{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: home, Name: "holdfast-healer"}: false,
		{Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"}:                         false,
	} {
		if mayHeal(p) != may {
			t.Errorf("%s: %t", p, !may)
		}
	}
	c := staging(t)
	c.Put("/api/v1/namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "payments"}})
	f, _ := Foreign{}.on(c)
	if err := f.connect(false); err != nil {
		t.Fatal(err)
	}
	if err := f.client.CoreV1().Namespaces().Delete(t.Context(), "payments", metav1.DeleteOptions{}); err == nil || c.Get("/api/v1/namespaces/payments") == nil {
		t.Errorf("its client has deleted a namespace: %v", err)
	}
	_, err := f.client.CoreV1().Nodes().Patch(t.Context(), "wa1", types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
	if err == nil || !strings.Contains(err.Error(), "is not sent") || c.Get("/api/v1/nodes/wa1").(*corev1.Node).Spec.Unschedulable {
		t.Errorf("its client has cordoned a node: %v", err)
	}
	if _, err := f.client.CoreV1().Secrets("payments").List(t.Context(), metav1.ListOptions{}); err == nil || !strings.Contains(err.Error(), "is not sent") {
		t.Errorf("its client reads Secrets: %v", err)
	}
}

// Who may write the Lease in holdfast's namespace writes no lines of a heal's, and no command of a CI system.
func TestForeignHealPrintsNoLinesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := staging(t)
		killed(t, c, true, cordon("wa1"))
		const leases = "/apis/coordination.k8s.io/v1/namespaces/holdfast/leases"
		quoted, err := json.Marshal("x\nstaging: nothing to heal\n::stop-commands::t")
		if err != nil {
			t.Fatal(err)
		}
		l := c.Get(leases + "/cluster").(*coordinationv1.Lease).DeepCopy()
		l.Annotations["holdfast.dev/holder"] = strings.Replace(l.Annotations["holdfast.dev/holder"], `"run-1"`, string(quoted), 1)
		c.Put(leases, l)
		f, out := Foreign{}.on(c)
		if err := errors.Join(f.DryRun(t.Context()), f.Heal(t.Context())); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(out.String()) {
			if !strings.HasPrefix(line, "staging: ") || line == "staging: nothing to heal\n" {
				t.Errorf("it prints %q", line)
			}
		}
		if !strings.Contains(out.String(), `is held by x\nstaging: nothing to heal\n::stop-commands::t (`) {
			t.Errorf("it does not say who holds the cluster:\n%s", out)
		}
	})
}

// A run that is refused because of the Lease says in one line who holds the cluster, whatever the Lease says.
func TestWhoHoldsTheClusterIsOneLine(t *testing.T) {
	who := hold.Holder{Run: "x\nstaging: healed", Command: "y\n::stop-commands::t", Left: "z\nstaging: healed"}
	for _, err := range []error{
		&hold.HeldError{Cluster: "staging", Holder: who}, &hold.AbandonedError{Cluster: "staging", Holder: who},
	} {
		if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), `x\nstaging: healed`) {
			t.Errorf("%q", err)
		}
	}
}

// A Lease that names no holder, because another client has written it, does not keep a heal from undoing what a run has left: it counts by its silence.
func TestForeignHealWithABrokenLease(t *testing.T) {
	for name, annotation := range map[string]string{"no JSON": "{", "nothing": "", "another form": `["run-1"]`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := staging(t)
				killed(t, c, false, cordon("wa1"))
				const at = "/apis/coordination.k8s.io/v1/namespaces/holdfast/leases/cluster"
				lease := c.Get(at).(*coordinationv1.Lease).DeepCopy()
				lease.Annotations["holdfast.dev/holder"] = annotation
				c.Put(filepath.Dir(at), lease)
				f, out := Foreign{}.on(c)
				if err := f.DryRun(t.Context()); err != nil || !strings.Contains(out.String(), "would undo: spec.unschedulable of nodes/wa1") {
					t.Errorf("dry run: %v\n%s", err, out)
				}
				began := time.Now()
				if err := f.Heal(t.Context()); err != nil || c.Get("/api/v1/nodes/wa1").(*corev1.Node).Spec.Unschedulable {
					t.Errorf("%v\n%s", err, out)
				}
				if took := time.Since(began); took < hold.Silence {
					t.Errorf("it took the cluster after %s, and its holder may live", took)
				}
			})
		})
	}
}

// TestForeignHealRemovesTheHealer and the load workers of a run that is gone, and no object of another owner. An administrator's namespace stays.
func TestForeignHealRemovesTheHealer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := staging(t)
		c.Put("/api/v1/namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "holdfast", Labels: map[string]string{workloads.LabelPartOf: workloads.PartOf}}})
		killed(t, c, true, cordon("wa1"))
		of := func(name, component string) metav1.ObjectMeta {
			return metav1.ObjectMeta{Namespace: "holdfast", Name: name, Labels: map[string]string{
				workloads.LabelPartOf: workloads.PartOf, workloads.LabelComponent: component, workloads.LabelRun: "run-1",
			}}
		}
		none := appsv1.DeploymentSpec{Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "none"}}}
		c.Put("/apis/apps/v1/namespaces/holdfast/deployments", &appsv1.Deployment{ObjectMeta: of(workloads.HealerName, workloads.ComponentHealer), Spec: none})
		c.Put("/apis/policy/v1/namespaces/holdfast/poddisruptionbudgets", &policyv1.PodDisruptionBudget{ObjectMeta: of(workloads.HealerName, workloads.ComponentHealer)})
		c.Put("/apis/batch/v1/namespaces/holdfast/jobs", &batchv1.Job{
			ObjectMeta: of(workloads.LoadName, workloads.ComponentLoad), Spec: batchv1.JobSpec{Completions: new(int32(0))},
		})
		c.Put("/apis/apps/v1/namespaces/holdfast/deployments", &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "holdfast", Name: "theirs"}, Spec: none})
		f, out := Foreign{}.on(c)
		if err := f.Heal(t.Context()); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		if left := c.List("/apis/apps/v1/namespaces/holdfast/deployments"); len(left) != 1 || left[0].GetName() != "theirs" {
			t.Errorf("%+v are left\n%s", left, out)
		}
		if n := len(c.List("/apis/policy/v1/namespaces/holdfast/poddisruptionbudgets")) + len(c.List("/apis/batch/v1/namespaces/holdfast/jobs")); n > 0 {
			t.Errorf("%d budgets and Jobs are left\n%s", n, out)
		}
		for _, want := range []string{"removed Deployment healer of the healer\n", "removed the load workers\n"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("it does not say %q:\n%s", want, out)
			}
		}
	})
}

// TestForeignNeedsAnAPIServer: what is wrong is said, with what can be done about it.
func TestForeignNeedsAnAPIServer(t *testing.T) {
	c := staging(t)
	f, _ := Foreign{}.on(c)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Heal(ctx); err == nil {
		t.Error("healed without an API server")
	}
}
