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
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/poll"
)

// killedIn are scenarios of one cluster, each with a fault of its own, and what `holdfast heal` must say after the harness was
// killed in the middle of it. Add a scenario here with each new fault that does something to a node.
var killedIn = []struct{ scenario, says string }{
	{"chaos/freeze-one-worker", "thawed "},
	{"chaos/shut-down-one-worker", "started "},
	{"chaos/partition-one-worker", "ran the undo partition on "},
	{"chaos/packet-loss", "ran the undo packet-loss on "},
	{"chaos/disk-pressure", "ran the undo node-pressure on "},
}

// TestHealAfterAKill kills a harness in the middle of each fault, on a real cluster, and has `holdfast heal` bring it back: so
// that nothing is left on any node, and a second heal finds nothing. In the end `holdfast down` removes it, frozen as it is.
//
//	make test-heal        # builds bin/holdfast, and takes about twenty minutes
func TestHealAfterAKill(t *testing.T) {
	h := harness{t: t, bin: binary(t), cluster: "heal-e2e"}
	ctx := context.WithoutCancel(t.Context())
	h.run("up", h.cluster, "--zones", "a,b,c", "--workers-per-zone", "1")
	t.Cleanup(func() { h.run("down", h.cluster) })
	for _, k := range killedIn {
		t.Run(k.scenario, func(t *testing.T) {
			h := h
			h.t = t
			h.killInTheMiddleOf(k.scenario)
			if out := h.run("heal", h.cluster); !strings.Contains(out, k.says) || !strings.Contains(out, "removed namespace hf-") {
				t.Errorf("heal says\n%s\nwant %s", out, k.says)
			}
			if out := h.run("heal", h.cluster); out != h.cluster+": nothing to heal\n" {
				t.Errorf("once more, it says\n%s", out)
			}
			h.nothingIsLeft(ctx)
		})
	}
	h.killInTheMiddleOf("chaos/freeze-one-worker")
	h.run("down", h.cluster)
	e, err := engine.Find(ctx, engine.Options{NoInstall: true})
	if err != nil {
		t.Fatal(err)
	}
	all, err := kind.List(ctx, e)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Name == h.cluster {
			t.Errorf("left after down: %+v", c)
		}
	}
}

// binary is the executable that `make build` makes: a test's own cannot be put into a cluster.
func binary(t *testing.T) string {
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

// run is a command that must succeed, and what it says.
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

// killInTheMiddleOf runs a scenario and kills the harness, with no warning, once its fault was seen.
func (h harness) killInTheMiddleOf(scenario string) {
	h.t.Helper()
	dir := h.t.TempDir()
	c := exec.Command(h.bin, "run", "--cluster", h.cluster, "--artifacts", dir, scenario)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if err := c.Start(); err != nil {
		h.t.Fatal(err)
	}
	err := poll.Until(h.t.Context(), scenario+" to be in the middle of its fault", 10*time.Minute, func(context.Context) (bool, string, error) {
		runs, err := filepath.Glob(filepath.Join(dir, "[0-9]*", filepath.FromSlash(scenario)))
		if err != nil || len(runs) != 1 {
			return false, "no record yet", err
		}
		run, err := history.Open(runs[0])
		if err != nil {
			return false, "", err
		}
		faults := run.Faults()
		return len(faults) > 0 && faults[len(faults)-1].Seen.OK, "not seen yet", nil
	})
	err = errors.Join(err, c.Process.Kill())
	_ = c.Wait() // it was killed
	if err != nil {
		h.t.Fatal(err)
	}
}

// nothingIsLeft looks at every node: no rules, no timers, no undos.
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
	const look = `nft list tables | grep holdfast_; ls -A /var/lib/holdfast/undo 2>/dev/null
systemctl list-units --all --plain --no-legend 'holdfast-undo-*'; ls /var/lib/kubelet/*.calm 2>/dev/null; true`
	for _, n := range c.Nodes() {
		if out, err := n.Exec(ctx, "sh", "-c", look); err != nil || len(out) > 0 {
			h.t.Errorf("on %s: %v\n%s", n.Name(), err, out)
		}
	}
}
