//go:build e2e

package cli

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/kind"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/run/maintenance"
)

// sharedCluster is the cluster that half of the commands use. interruptedIn is the scenario of the runs: it keeps an undo script on every
// node while its fault is in force.
const (
	sharedCluster = "stress-e2e"
	interruptedIn = "chaos/kube-proxy-away"
)

// interrupted are the commands. The application of the test has objects in several namespaces and in none, and hooks.
var interrupted = [][]string{
	{"run", interruptedIn},
	{"test", "../../suites/apps/platform/holdfast.yaml", "--faults", "rollout"},
}

// TestInterruptsOnRealClusters starts runs and tests on one shared cluster and on their own, and interrupts them at random moments: INT, TERM or
// KILL, once or twice, within milliseconds or later, to the process or to its group. Everything that is left is listed, and objects of
// other users in the shared cluster are unchanged.
//
//	make test-interrupts                # builds bin/holdfast; 50 moments take about two hours
//	make test-interrupts MOMENTS=5
func TestInterruptsOnRealClusters(t *testing.T) {
	r, ctx := momentSource(t), context.WithoutCancel(t.Context())
	h := harness{t: t, bin: binary(t), cluster: sharedCluster}
	h.run("up", sharedCluster, "--for", interruptedIn)
	defer h.isGone(ctx)
	e, err := engine.Find(ctx, engine.Options{NoInstall: true})
	if err != nil {
		t.Fatal(err)
	}
	world := realWorld{harness: h, e: e, client: h.reach(ctx, e)}
	world.settle(ctx)
	for n := range *moments {
		args := append(slices.Clone(interrupted[n/2%len(interrupted)]), "--artifacts", t.TempDir())
		if n%2 == 1 {
			args = append(args, "--cluster", sharedCluster)
		}
		list := blows(r, 90*time.Second)
		got := strike(ctx, t, exec.Command(h.bin, args...), list)
		t.Logf("moment %d: %s, %v, killed: %t", n, args[0], list, got.killed)
		world.nothingUnnamed(ctx, got)
		world.bystander(ctx)
		if t.Failed() {
			t.Fatalf("moment %d, %v: it said\n%s", n, list, got.said)
		}
	}
}

// reach is a client of the shared cluster.
func (h harness) reach(ctx context.Context, e *engine.Engine) kubernetes.Interface {
	h.t.Helper()
	c, err := kind.Open(ctx, e, h.cluster, kind.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		h.t.Fatal(err)
	}
	return client
}

// realWorld is where the runs may leave something.
type realWorld struct {
	harness
	e      *engine.Engine
	client kubernetes.Interface
}

// settle creates an object of another user in the shared cluster.
func (w realWorld) settle(ctx context.Context) {
	w.t.Helper()
	_, err := w.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bystander"}}, metav1.CreateOptions{})
	if err == nil {
		thing := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "thing"}, Data: map[string]string{"is": "whole"}}
		_, err = w.client.CoreV1().ConfigMaps("bystander").Create(ctx, thing, metav1.CreateOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w realWorld) bystander(ctx context.Context) {
	w.t.Helper()
	thing, err := w.client.CoreV1().ConfigMaps("bystander").Get(ctx, "thing", metav1.GetOptions{})
	if err != nil || thing.Data["is"] != "whole" {
		w.t.Errorf("what another client has in the cluster: %v, %+v", err, thing)
	}
}

// nothingUnnamed checks that the run, or after a SIGKILL the next command, lists everything that is left. It removes what is left.
func (w realWorld) nothingUnnamed(ctx context.Context, got struck) {
	w.t.Helper()
	said := got.said
	if got.killed {
		said += w.run("doctor")
	}
	all, err := kind.List(ctx, w.e)
	if err != nil {
		w.t.Fatal(err)
	}
	made, err := kind.Makers(ctx, w.e)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range all {
		used := slices.ContainsFunc(made, func(m kind.Made) bool { return m.Name == c.Name && (m.InUse() || m.Kept) })
		if c.Name == w.cluster || used { // ignore clusters of other users of this machine
			continue
		}
		if !strings.Contains(said, "holdfast down "+c.Name) {
			w.t.Errorf("cluster %s is left, and not named: %+v", c.Name, c)
		}
		w.run("down", c.Name)
	}
	if strings.Contains(said, "holdfast heal "+w.cluster) {
		w.run("heal", w.cluster)
	}
	if out := w.run("heal", w.cluster); out != w.cluster+": nothing to heal\n" {
		w.t.Errorf("what was left in the shared cluster was not named:\n%s", out)
	}
	w.empty(ctx)
	w.nothingIsLeft(ctx)
}

// empty checks that no namespace of a scenario and no Lease exists.
func (w realWorld) empty(ctx context.Context) {
	w.t.Helper()
	err := poll.Until(ctx, "the namespaces of scenarios to be gone", time.Minute, func(ctx context.Context) (bool, string, error) {
		list, err := w.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		var left []string
		for _, n := range list.Items {
			if strings.HasPrefix(n.Name, "hf-") {
				left = append(left, n.Name)
			}
		}
		return len(left) == 0, strings.Join(left, ", "), nil
	})
	if err != nil {
		w.t.Error(err)
	}
	if err := hold.Check(ctx, w.client, hold.Options{Cluster: w.cluster}); err != nil {
		w.t.Errorf("the Lease: %v", err)
	}
	copies, err := filepath.Glob(filepath.Join(stateOf(w.t, w.cluster), maintenance.CopyFile))
	if err != nil || len(copies) > 0 {
		w.t.Errorf("a copy of the Lease: %v %v", copies, err)
	}
}

func stateOf(t *testing.T, cluster string) string {
	t.Helper()
	dir, err := kind.StateDir(cluster)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
