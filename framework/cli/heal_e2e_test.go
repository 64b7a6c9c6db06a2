//go:build e2e

package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/kind"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
)

// killed are scenarios with different faults, by the flags of `holdfast up` for their cluster, and what `holdfast heal` must print after
// the harness was killed while the fault was in force. Add a scenario here for each new fault that changes a node.
var killed = []struct {
	up        []string
	scenarios []killedIn
}{
	{[]string{"--zones", "a,b,c", "--workers-per-zone", "1"}, []killedIn{
		{"chaos/freeze-one-worker", "unpaused "},
		{"chaos/shut-down-one-worker", "started "},
		{"chaos/partition-one-worker", "ran the undo partition on "},
		{"chaos/packet-loss", "ran the undo packet-loss on "},
		{"chaos/disk-pressure", "ran the undo node-pressure on "},
	}},
	{[]string{"--for", "chaos/kube-proxy-away"}, []killedIn{
		{"chaos/kube-proxy-away", "ran the undo away-kube-proxy on "},
		{"chaos/kube-proxy-killed", noUndo},
	}},
	{[]string{"--zones", "a,b", "--workers-per-zone", "1"}, []killedIn{
		{"chaos/coredns-away", "ran the undo away-coredns on "},
		{"chaos/containerd-away", "ran the undo away-containerd on "},
		{"chaos/containerd-killed", noUndo},
	}},
	{[]string{"--zones", "a,b", "--workers-per-zone", "1", "--timings", "stock", "--leader-election"}, []killedIn{
		{"chaos/kube-apiserver-away-a-minute", "ran the undo away-kube-apiserver on "},
		{"chaos/kube-apiserver-killed", noUndo},
		{"chaos/etcd-away", "ran the undo away-etcd on "},
		{"chaos/etcd-killed", noUndo},
	}},
	{nil, []killedIn{
		{"chaos/kube-scheduler-away", "ran the undo away-kube-scheduler on "},
		{"chaos/kube-controller-manager-away", "ran the undo away-kube-controller-manager on "},
		{"chaos/kubelet-away", "ran the undo away-kubelet on "},
		{"chaos/kill-one-worker", "started "},
		{"chaos/partition-one-zone-behind-a-gateway", "ran the undo partition on "},
		{"conformance/zone-outage-soft-spread", "started "},
	}},
	{[]string{"--control-planes", "3", "--zones", "a,b", "--workers-per-zone", "1"}, []killedIn{
		{"chaos/kill-one-control-plane", "started "},
		{"chaos/kill-etcd-leader", noUndo},
	}},
}

type killedIn struct{ scenario, says string }

// noUndo is for faults that kill something which restarts by itself: only the scenario's namespace is left.
const noUndo = "removed namespace hf-"

// TestHealAfterAKill kills a harness while each fault is in force, on real clusters, and heals the clusters with `holdfast heal`. Nothing
// is left on any node then, and a second heal finds nothing. Each cluster is removed with `holdfast down`, one of them with a paused node.
//
//	make test-heal        # builds bin/holdfast, and takes about twenty minutes
func TestHealAfterAKill(t *testing.T) {
	h := harness{t: t, bin: binary(t), cluster: "heal-e2e"}
	ctx := context.WithoutCancel(t.Context())
	for i, k := range killed {
		h := h
		t.Run(strings.Join(k.up, " "), func(t *testing.T) {
			h.t = t
			h.run(append([]string{"up", h.cluster}, k.up...)...)
			defer h.isGone(ctx)
			for _, in := range k.scenarios {
				t.Run(in.scenario, func(t *testing.T) {
					h := h
					h.t = t
					h.killAndHeal(ctx, in)
				})
			}
			if i == 0 {
				h.killInTheMiddleOf("chaos/freeze-one-worker")
			}
		})
	}
}

func (h harness) killAndHeal(ctx context.Context, in killedIn) {
	h.t.Helper()
	h.killInTheMiddleOf(in.scenario)
	if out := h.run("heal", h.cluster); !strings.Contains(out, in.says) || !strings.Contains(out, noUndo) {
		h.t.Errorf("heal says\n%s\nwant %s", out, in.says)
	}
	if out := h.run("heal", h.cluster); out != h.cluster+": nothing to heal\n" {
		h.t.Errorf("once more, it says\n%s", out)
	}
	h.nothingIsLeft(ctx)
}

// isGone removes the cluster in its present state.
func (h harness) isGone(ctx context.Context) {
	h.t.Helper()
	h.run("down", h.cluster)
	e, err := engine.Find(ctx, engine.Options{NoInstall: true})
	if err != nil {
		h.t.Fatal(err)
	}
	all, err := kind.List(ctx, e)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, c := range all {
		if c.Name == h.cluster {
			h.t.Errorf("left after down: %+v", c)
		}
	}
}

// binary is the executable from `make build`. The test's own executable cannot run in a cluster.
func binary(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/holdfast")
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("run 'make build' first: %v", err)
	}
	return path
}

type harness struct {
	t            *testing.T
	bin, cluster string
}

// run runs a command, which must succeed, and returns its output.
func (h harness) run(args ...string) string {
	h.t.Helper()
	var out strings.Builder
	c := exec.Command(h.bin, args...)
	c.Stdout, c.Stderr = &out, os.Stderr
	if err := c.Run(); err != nil {
		h.t.Fatalf("holdfast %q: %v\n%s", args, err, &out)
	}
	return out.String()
}

// killInTheMiddleOf runs a scenario and kills the harness with SIGKILL when the fault was seen.
func (h harness) killInTheMiddleOf(scenario string) {
	h.t.Helper()
	dir := h.t.TempDir()
	c := exec.Command(h.bin, "run", "--cluster", h.cluster, "--artifacts", dir, scenario)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if err := c.Start(); err != nil {
		h.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = c.Wait() // it was killed, or has no verdict
		close(ended)
	}()
	err := poll.Until(h.t.Context(), scenario+" to be in the middle of its fault", 10*time.Minute, func(context.Context) (bool, string, error) {
		select {
		case <-ended:
			h.t.Fatalf("%s ended before it could be killed", scenario)
		default:
		}
		runs, err := filepath.Glob(filepath.Join(dir, "[0-9]*", filepath.FromSlash(scenario)))
		if err != nil || len(runs) != 1 {
			return false, "no record yet", err
		}
		run, err := history.Open(runs[0])
		if err != nil {
			return false, "", err
		}
		faults := timeline.Faults(run)
		return len(faults) > 0 && faults[len(faults)-1].Seen.OK, "not seen yet", nil
	})
	err = errors.Join(err, c.Process.Kill())
	<-ended
	if err != nil {
		h.t.Fatal(err)
	}
}

// nothingIsLeft checks every node: no rules, timers, undo scripts or moved files are left, and the services of systemd and the kubelet
// run.
func (h harness) nothingIsLeft(ctx context.Context) {
	h.t.Helper()
	e, err := engine.Find(ctx, engine.Options{NoInstall: true})
	if err != nil {
		h.t.Fatal(err)
	}
	c, err := kind.Open(ctx, e, h.cluster, kind.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	const look = `nft list tables | grep holdfast_; ls -A /var/lib/holdfast/undo /var/lib/holdfast/away 2>/dev/null | grep -v ':$' | grep .
systemctl list-units --all --plain --no-legend 'holdfast-undo-*'; ls /var/lib/kubelet/*.calm /var/lib/kubelet/holdfast-ballast 2>/dev/null
systemctl is-active kubelet containerd | grep -v '^active$'
[ ! -e /etc/kubernetes/admin.conf ] || [ $(ls /etc/kubernetes/manifests | wc -l) = 4 ] || ls /etc/kubernetes/manifests; true`
	for _, n := range c.Nodes() {
		if out, err := n.Exec(ctx, "sh", "-c", look); err != nil || len(out) > 0 {
			h.t.Errorf("on %s: %v\n%s", n.Name(), err, out)
		}
	}
}
