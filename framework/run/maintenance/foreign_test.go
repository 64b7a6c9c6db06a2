package maintenance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/fault/journal"
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
func killed(t *testing.T, c *clustertest.Cluster, here bool, changes ...journal.Change) (file string) {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(c.Config())
	held, err := hold.Take(t.Context(), client, "run-1", "holdfast test --disturb", hold.Options{Cluster: "staging", Foreign: true, Context: "staging"})
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "journal.jsonl")
	j, err := journal.Open(t.Context(), journal.Options{
		Run: "run-1", Command: "holdfast test --disturb", Client: client, Dynamic: dynamic.NewForConfigOrDie(c.Config()), File: file, Hold: held,
	})
	for _, change := range changes {
		if err == nil {
			_, err = j.Do(t.Context(), change)
		}
	}
	if err != nil {
		t.Fatal(err)
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
	return file
}

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
				killed(t, c, here, journal.Cordon("wa1"), journal.Label("wb1", "example.com/x", "1"))
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
					"the cluster is held by run-1 (holdfast test --disturb; process ", "run run-1: would undo: label wb1 with example.com/x=1 (/metadata/labels/example.com~1x of nodes/wb1 is to hold nothing)\n",
					"run run-1: would undo: cordon wa1 (/spec/unschedulable of nodes/wa1 is to hold nothing)\n", "would remove namespace holdfast-load-x7, whose time has passed\n", "would remove namespace holdfast\n",
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
					"released the cluster from run-1", "run run-1: undone: cordon wa1 (/spec/unschedulable of nodes/wa1 is to hold nothing)",
					"run run-1: undone: label wb1 with example.com/x=1 (/metadata/labels/example.com~1x of nodes/wb1 is to hold nothing)",
					"removed namespace holdfast-load-x7, whose time had passed", "removed namespace holdfast", "healed",
				}
				if !here {
					want = append([]string{"waiting 30s for a sign of life from run-1, which ran on another machine"}, want...)
				}
				checkLines(t, "heal", out.String(), want...)
				if n := c.Get("/api/v1/nodes/wa1").(*corev1.Node); n.Spec.Unschedulable {
					t.Error("wa1 is cordoned")
				}
				if _, there := c.Get("/api/v1/nodes/wb1").GetLabels()["example.com/x"]; there {
					t.Error("wb1 is labelled")
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

// TestForeignHealSaysWhatItLeaves, and whose change it was. It does not overwrite it, and is no error.
func TestForeignHealSaysWhatItLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := staging(t)
		killed(t, c, true, journal.Label("wa1", "topology.kubernetes.io/zone", "c"))
		_, err := kubernetes.NewForConfigOrDie(c.Config()).CoreV1().Nodes().Patch(t.Context(), "wa1", "application/merge-patch+json",
			[]byte(`{"metadata":{"labels":{"topology.kubernetes.io/zone":"d"}}}`), metav1.PatchOptions{FieldManager: "kubectl-label"})
		if err != nil {
			t.Fatal(err)
		}
		f, out := Foreign{}.on(c)
		if err := f.Heal(t.Context()); err != nil {
			t.Error(err)
		}
		const why = `/metadata/labels/topology.kubernetes.io~1zone holds "d" now, which is neither what it was nor what this run had set: changed by kubectl-label at 2000-01-01T00:00:00Z`
		checkLines(t, "heal", out.String(), "released the cluster from run-1",
			"run run-1: left as it is: label wa1 with topology.kubernetes.io/zone=c: "+why,
			`run run-1: differs: nodes/wa1: /metadata/labels/topology.kubernetes.io~1zone: was "a", and is "d": change 1: label wa1 with topology.kubernetes.io/zone=c: `+why,
			"removed namespace holdfast", "healed")
		if got := c.Get("/api/v1/nodes/wa1").GetLabels()["topology.kubernetes.io/zone"]; got != "d" {
			t.Errorf("it is %s", got)
		}
	})
}

// TestForeignHealOfADifferenceThatNothingExplains is an error, although everything that was written down is undone.
func TestForeignHealOfADifferenceThatNothingExplains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := staging(t)
		killed(t, c, true, journal.Cordon("wa1"))
		c.EditNode("wb1", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectNoSchedule}} })
		f, out := Foreign{}.on(c)
		err := f.Heal(t.Context())
		if err == nil || !strings.Contains(err.Error(), "1 fields are not as they were, and nothing says who has changed them") ||
			!strings.Contains(out.String(), "differs: nodes/wb1: /spec/taints/x:NoSchedule: was nothing, and is \"\": nothing says who has changed it\n") {
			t.Errorf("%v\n%s", err, out)
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

// TestForeignHealFromTheLocalCopy: somebody has deleted the namespace holdfast while the run was killed.
func TestForeignHealFromTheLocalCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := staging(t)
		file := killed(t, c, true, journal.Cordon("wa1"))
		f, out := Foreign{File: file}.on(c)
		if err := f.Heal(t.Context()); err == nil || !strings.Contains(err.Error(), "the journal of run run-1 is in the cluster, and newer than ") {
			t.Errorf("while the ConfigMap is there: %v", err)
		}
		if err := kubernetes.NewForConfigOrDie(c.Config()).CoreV1().Namespaces().Delete(t.Context(), "holdfast", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := f.Heal(t.Context()); err != nil || c.Get("/api/v1/nodes/wa1").(*corev1.Node).Spec.Unschedulable {
			t.Errorf("%v\n%s", err, out)
		}
		other := staging(t)
		other.Forget("/api/v1/namespaces/kube-system")
		other.Put("/api/v1/namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "another"}})
		f, _ = Foreign{File: file}.on(other)
		if err := f.Heal(t.Context()); err == nil || !strings.Contains(err.Error(), "is the journal of another cluster") {
			t.Errorf("in another cluster: %v", err)
		}
	})
}

// TestForeignHealRunsNoCommandsUnasked: they come from the cluster.
func TestForeignHealRunsNoCommandsUnasked(t *testing.T) {
	c := staging(t)
	mark := filepath.Join(t.TempDir(), "undone")
	killed(t, c, true, journal.Cordon("wa1"), journal.RunCommand([]string{"true"}, []string{"touch", mark}))
	f, out := Foreign{}.on(c)
	err := f.Heal(t.Context())
	if err == nil || !strings.Contains(err.Error(), `it is undone by a command, ["touch" "`) || !strings.Contains(err.Error(), "--run-commands") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a command from the cluster was run")
	}
	if c.Get("/api/v1/nodes/wa1").(*corev1.Node).Spec.Unschedulable {
		t.Error("the rest was not undone")
	}
	f, out = Foreign{Commands: true}.on(c)
	if err := f.Heal(t.Context()); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error(err)
	}
	if shown := fmt.Sprintf("run run-1: running the command [%q %q]\n", "touch", mark); !strings.Contains(out.String(), shown) {
		t.Errorf("it does not show the command before it runs it:\n%s", out)
	}
}

// A heal sends nothing but what undoes changes of a run and removes objects of holdfast, also if it is made to try something else.
func TestAHealIsLimited(t *testing.T) {
	home := hold.Namespace
	for p, may := range map[existing.Permission]bool{
		{Verb: "patch", Resource: "nodes", Name: "w1"}:                                                                true,
		{Verb: "patch", Group: "apps", Resource: "deployments", Subresource: "scale", Namespace: "shop", Name: "web"}: true,
		{Verb: "patch", Group: "apps", Resource: "statefulsets", Namespace: "shop", Name: "db"}:                       true,
		{Verb: "delete", Resource: "namespaces", Name: "holdfast-load-x"}:                                             true,
		{Verb: "delete", Resource: "configmaps", Namespace: home, Name: "holdfast-run-1"}:                             true,
		{Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: home, Name: "cluster"}:          true,

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
	if _, err := f.client.CoreV1().Secrets("payments").List(t.Context(), metav1.ListOptions{}); err == nil || !strings.Contains(err.Error(), "is not sent") {
		t.Errorf("its client reads Secrets: %v", err)
	}
}

// Who may write ConfigMaps and Leases in holdfast's namespace writes no lines of a heal's, and no command of a CI system: neither in what it prints nor in its error.
func TestForeignHealPrintsNoLinesOfOthers(t *testing.T) {
	const forged = "x\nstaging: nothing to heal\n::stop-commands::t"
	entry := func(how func(e *journal.Entry)) func(map[string]string) {
		return func(data map[string]string) {
			var e journal.Entry
			if err := json.Unmarshal([]byte(data["change-000001"]), &e); err != nil {
				t.Fatal(err)
			}
			how(&e)
			text, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			data["change-000001"] = string(text)
		}
	}
	quoted, err := json.Marshal(forged)
	if err != nil {
		t.Fatal(err)
	}
	inRun := func(data map[string]string) {
		data["journal"] = strings.Replace(data["journal"], `"run":"run-1"`, `"run":`+string(quoted), 1)
	}
	const control, other = "control characters", "says that it is of run"
	for name, test := range map[string]struct {
		journal func(map[string]string)
		lease   string // replaces the name of the run
		want    string // in the error
	}{
		"what a change is":      {entry(func(e *journal.Entry) { e.What = forged }), "", control},
		"the object":            {entry(func(e *journal.Entry) { e.Object.Name = forged }), "", control},
		"the field":             {entry(func(e *journal.Entry) { e.Field = journal.Pointer("metadata", "labels", forged) }), "", control},
		"why it needs no undo":  {entry(func(e *journal.Entry) { e.NoUndo, e.Undo = forged, nil }), "", control},
		"why it was left":       {entry(func(e *journal.Entry) { e.State, e.Why = journal.Left, forged }), "", ""}, // an error's text, which may have lines
		"the run":               {inRun, "", other},
		"who holds the cluster": {func(map[string]string) {}, string(quoted), ""},
		"the run, by another's name": {func(data map[string]string) {
			data["journal"] = strings.Replace(data["journal"], `"run-1"`, `"run-2"`, 1)
		}, "", other},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := staging(t)
				killed(t, c, true, journal.Cordon("wa1"))
				const maps, leases = "/api/v1/namespaces/holdfast/configmaps", "/apis/coordination.k8s.io/v1/namespaces/holdfast/leases"
				m := c.Get(maps + "/holdfast-run-1").(*corev1.ConfigMap).DeepCopy()
				test.journal(m.Data)
				c.Put(maps, m)
				if test.lease != "" {
					l := c.Get(leases + "/cluster").(*coordinationv1.Lease).DeepCopy()
					l.Annotations["holdfast.dev/holder"] = strings.Replace(l.Annotations["holdfast.dev/holder"], `"run-1"`, test.lease, 1)
					c.Put(leases, l)
				}
				f, out := Foreign{}.on(c)
				for _, err := range []error{f.DryRun(t.Context()), f.Heal(t.Context())} {
					if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n")) {
						t.Errorf("%v, want %q", err, test.want)
					}
				}
				for line := range strings.Lines(out.String()) {
					if !strings.HasPrefix(line, "staging: ") || line == "staging: nothing to heal\n" {
						t.Errorf("it prints %q", line)
					}
				}
				if test.lease != "" && !strings.Contains(out.String(), `is held by x\nstaging: nothing to heal\n::stop-commands::t (`) {
					t.Errorf("it does not say who holds the cluster:\n%s", out)
				}
			})
		})
	}
}

// A run that is refused because of the Lease says in one line who holds the cluster, whatever the Lease says.
func TestWhoHoldsTheClusterIsOneLine(t *testing.T) {
	who := hold.Holder{Run: "x\nstaging: healed", Command: "y\n::stop-commands::t", Left: "z\nstaging: healed"}
	for _, err := range []error{
		&hold.HeldError{Cluster: "staging", Holder: who}, &hold.AbandonedError{Cluster: "staging", Holder: who}, &journal.TakenError{By: who.Run},
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
				killed(t, c, false, journal.Cordon("wa1"))
				const at = "/apis/coordination.k8s.io/v1/namespaces/holdfast/leases/cluster"
				lease := c.Get(at).(*coordinationv1.Lease).DeepCopy()
				lease.Annotations["holdfast.dev/holder"] = annotation
				c.Put(filepath.Dir(at), lease)
				f, out := Foreign{}.on(c)
				if err := f.DryRun(t.Context()); err != nil || !strings.Contains(out.String(), "would undo: cordon wa1") {
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
		killed(t, c, true, journal.Cordon("wa1"))
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
