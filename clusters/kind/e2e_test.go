//go:build e2e

package kind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// These tests create real clusters: go test -tags e2e -run E2E -timeout 30m ./clusters/kind

func findEngine(t testing.TB) *engine.Engine {
	t.Helper()
	e, err := engine.Find(t.Context(), engine.Options{Say: func(format string, a ...any) { t.Logf(format, a...) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Apply(); err != nil {
		t.Fatal(err)
	}
	return e
}

// runName is a cluster name that no concurrent run uses.
func runName(what string) string { return fmt.Sprintf("%s-%d", what, os.Getpid()) }

// timed logs how long a step took, and ends the test if the step fails.
func timed(t *testing.T, what string, step func(context.Context) error) {
	t.Helper()
	begin := time.Now()
	err := step(t.Context())
	t.Logf("%-40s %6.2f s", what, time.Since(begin).Seconds())
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// summaryOf is what the engine has of a cluster. It is the zero Summary if the engine has nothing.
func summaryOf(ctx context.Context, e *engine.Engine, cluster string) (Summary, error) {
	all, err := List(ctx, e)
	at := slices.IndexFunc(all, func(s Summary) bool { return s.Name == cluster })
	if err != nil || at < 0 {
		return Summary{}, err
	}
	return all[at], nil
}

// expectNothingLeft fails if the engine still has anything of a cluster.
func expectNothingLeft(t *testing.T, e *engine.Engine, cluster string) {
	t.Helper()
	if left, err := summaryOf(t.Context(), e, cluster); err != nil || left.Name != "" {
		t.Errorf("left of %s: %+v, %v", cluster, left, err)
	}
	if path, err := kubeconfigPath(cluster); err == nil {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there", path)
		}
	}
}

func TestE2ECluster(t *testing.T) {
	e, cluster := findEngine(t), runName("life")
	spec := clusters.Spec{
		Kubernetes: os.Getenv("HOLDFAST_KUBERNETES"), Zones: []string{"a", "b"}, PerWorker: map[string][]string{"disk": {"fast"}},
	}
	var c *Cluster
	t.Cleanup(func() {
		if _, err := Delete(context.WithoutCancel(t.Context()), e, cluster); err != nil {
			t.Error(err)
		}
	})
	timed(t, "create and prove 1+1+2", func(ctx context.Context) error {
		made, err := New(e, Options{}).Create(ctx, cluster, spec)
		if err == nil {
			c = made.(*Cluster)
		}
		return err
	})
	if _, err := New(e, Options{}).Create(t.Context(), cluster, spec); !errors.Is(err, errTaken) {
		t.Errorf("a second one of the same name: %v", err)
	}
	t.Run("as asked", func(t *testing.T) { expectAsAsked(t, c) })
	timed(t, "prove again", c.Prove)
	t.Run("attach", func(t *testing.T) { expectAttachable(t, e, c) })
	t.Run("image", func(t *testing.T) { expectImageLoads(t, c) })
	for _, n := range c.nodes {
		t.Run(string(n.role)+" "+n.name, func(t *testing.T) { expectVerbs(t, n) })
	}
	t.Run("logs", func(t *testing.T) { expectLogs(t, c) })
	timed(t, "prove after all", c.Prove)
	timed(t, "delete", c.Delete)
	expectNothingLeft(t, e, cluster)
}

// expectAsAsked checks that the patches and labels of the configuration took effect.
func expectAsAsked(t *testing.T, c *Cluster) {
	timings := c.Spec().Profile.Timings()
	flags, err := c.nodes[0].Exec(t.Context(), "bash", "-c", "cat /etc/kubernetes/manifests/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{
		"--node-monitor-period=" + timings.NodeMonitorPeriod.String(), "--node-monitor-grace-period=" + timings.NodeMonitorGrace.String(),
		"--default-not-ready-toleration-seconds=5", "--default-unreachable-toleration-seconds=5",
		"--leader-elect=false", "--unsafe-no-fsync=true", "--enable-hostpath-provisioner=true",
	} {
		if !strings.Contains(string(flags), flag) {
			t.Errorf("the control plane lacks %s", flag)
		}
	}
	nodes, err := c.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes.Items {
		role := clusters.Role(node.Labels[clusters.LabelRole])
		tainted := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Key == clusters.LabelRole && taint.Value == string(clusters.LoadNode) && taint.Effect == corev1.TaintEffectNoSchedule
		})
		if tainted != (role == clusters.LoadNode) {
			t.Errorf("%s, role %s: taints %v", node.Name, role, node.Spec.Taints)
		}
		if (node.Labels["disk"] == "fast") != (role == clusters.Worker) {
			t.Errorf("%s, role %s: labels %v", node.Name, role, node.Labels)
		}
	}
	for _, n := range c.nodes {
		expectSealed(t, n)
		kubelet, err := n.Exec(t.Context(), "cat", "/var/lib/kubelet/config.yaml")
		if err != nil || !strings.Contains(string(kubelet), "nodeLeaseDurationSeconds: 4") {
			t.Errorf("%s: kubelet's configuration, %v:\n%s", n.name, err, kubelet)
		}
	}
}

func expectSealed(t *testing.T, n *Node) {
	t.Helper()
	if out, err := n.Exec(t.Context(), "ip", "-4", "route", "show", "default"); err != nil || len(out) > 0 {
		t.Errorf("%s has a default route: %s, %v", n.name, out, err)
	}
}

func expectAttachable(t *testing.T, e *engine.Engine, c *Cluster) {
	again, err := Open(t.Context(), e, c.name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(again.Spec()), fmt.Sprint(c.Spec()); got != want {
		t.Errorf("spec %s, want %s", got, want)
	}
	path, err := c.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil { // as if the cache had been cleared
		t.Fatal(err)
	}
	lost, err := Open(t.Context(), e, c.name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	timed(t, "prove as another process", lost.Prove)
}

func expectImageLoads(t *testing.T, c *Cluster) {
	path := filepath.Join(t.TempDir(), "image.tar")
	ref, err := name.NewTag("holdfast.test/empty:1")
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{Architecture: runtime.GOARCH, OS: "linux"})
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(path, ref, image); err != nil {
		t.Fatal(err)
	}
	load := func(ctx context.Context) error {
		return c.LoadImage(ctx, clusters.Image{Ref: ref.String(), Path: path})
	}
	timed(t, "load an empty image", load)
	timed(t, "load it again", load)
	err = c.LoadImage(t.Context(), clusters.Image{Ref: "holdfast.test/other:1", Path: path})
	if err == nil || !strings.Contains(err.Error(), "RepoTags") {
		t.Errorf("a name that is not in the archive: %v", err)
	}
}

func expectVerbs(t *testing.T, n *Node) {
	was := n.lastAddress()
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"kill", n.Kill}, {"start after kill", n.Start},
		{"pause", n.Pause}, {"resume", n.Resume},
		{"stop", n.Stop}, {"start after stop", n.Start},
		{"start while it runs", n.Start},
	} {
		timed(t, step.what, step.do)
	}
	if n.lastAddress() != was {
		t.Errorf("address changed from %v to %v", was, n.lastAddress())
	}
	expectSealed(t, n)
}

func expectLogs(t *testing.T, c *Cluster) {
	worker := nodeOf(t, c, clusters.Worker)
	if err := worker.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	timed(t, "collect logs, one node down", func(ctx context.Context) error { return c.CollectLogs(ctx, dir) })
	for _, n := range c.nodes {
		pods, _ := filepath.Glob(filepath.Join(dir, n.name, "pods", "*"))
		if len(pods) == 0 {
			t.Errorf("%s: no pod logs", n.name)
		}
		_, err := os.Stat(filepath.Join(dir, n.name, "journal.log"))
		if (err == nil) != (n != worker) {
			t.Errorf("%s: journal: %v", n.name, err)
		}
	}
	if err := worker.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestE2EInterrupt(t *testing.T) {
	e := findEngine(t)
	for _, after := range []time.Duration{100 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second} {
		cluster := runName("cut")
		ctx, cancel := context.WithTimeoutCause(t.Context(), after, errors.New("interrupted"))
		begin := time.Now()
		_, err := New(e, Options{}).Create(ctx, cluster, clusters.Spec{Zones: []string{"a"}})
		cancel()
		t.Logf("interrupted after %s, returned after %s: %v", after, time.Since(begin).Round(10*time.Millisecond), err)
		if err == nil || !strings.Contains(err.Error(), "interrupted") {
			t.Errorf("after %s: %v", after, err)
		}
		expectNothingLeft(t, e, cluster)
	}
}

// crashName is the environment variable that TestE2ECrash sets for the process that it starts and kills.
const crashName = "HOLDFAST_TEST_CRASH"

func TestE2ECrash(t *testing.T) {
	e := findEngine(t)
	if cluster := os.Getenv(crashName); cluster != "" {
		_, err := New(e, Options{}).Create(t.Context(), cluster, clusters.Spec{Zones: []string{"a"}})
		t.Fatalf("was not killed: %v", err)
	}
	cluster := runName("crash")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestE2ECrash$")
	child.Env = append(os.Environ(), crashName+"="+cluster)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	err := settle(t.Context(), "two containers", time.Minute, func(ctx context.Context) []string {
		found, err := summaryOf(ctx, e, cluster)
		if err != nil || len(found.Containers) < 2 {
			return []string{fmt.Sprintf("%v, %v", found, err)}
		}
		return nil
	})
	if err := errors.Join(err, child.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	removed, err := Delete(t.Context(), e, cluster)
	t.Logf("removed %+v", removed)
	if err != nil || len(removed.Containers) < 2 || len(removed.Volumes) < 2 || len(removed.Networks) != 1 {
		t.Errorf("removed %+v, %v", removed, err)
	}
	expectNothingLeft(t, e, cluster)
}
