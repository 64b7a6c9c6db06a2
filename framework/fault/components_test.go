package fault

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
)

// components are the programs of Kubernetes in a world: one process of each on every node.
type components struct {
	away    []string // what is kept from running
	started int      // how often something was started anew
	left    []string // undos on nodes
	ended   []string // what was killed
}

// component does what a node's shell would.
func (w *world) component(m *machine, verb string, args []string) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &w.components
	switch verb {
	case "processes":
		if slices.Contains(c.away, args[0]) {
			return nil, nil
		}
		return fmt.Appendf(nil, "10 %d\n", c.started), nil
	case "end":
		if !w.deaf && !m.immortal {
			c.started++
			c.ended = append(c.ended, args[0])
		}
	case "away":
		if !w.deaf {
			c.away = append(c.away, args[0])
		}
	case "leave":
		c.left = append(c.left, m.name+" "+args[1])
	case "undo":
		name := strings.TrimPrefix(args[1], "away-")
		c.away = slices.DeleteFunc(c.away, func(s string) bool { return s == name })
		c.started++
		c.left = slices.DeleteFunc(c.left, func(s string) bool { return s == m.name+" "+args[1] })
	}
	return nil, nil
}

func withControlPlane(*testing.T) (*world, Target) {
	w := newWorld(6, "w1", "w2", "w3")
	w.addControlPlane()
	return w, w.target()
}

func (w *world) addControlPlane() {
	w.nodes = append([]clusters.Node{&machine{
		name: "cp", role: clusters.ControlPlane, state: clusters.Running, kubelet: &kubelet{world: w, node: "cp", config: calmConfig},
		network: network{world: w},
	}}, w.nodes...)
	_ = w.client.Tracker().Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cp"}})
}

// TestComponents: each is killed, or kept away for its time with the undo left where it belongs, and comes back; meanwhile the
// workload is asked for a seventh replica, which it is rid of in the end.
func TestComponents(t *testing.T) {
	for c, h := range componentSpecs {
		for _, f := range []Fault{ComponentKill{c}, ComponentAway{Component: c, For: time.Minute}} {
			t.Run(f.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, target := withControlPlane(t)
					began := time.Now()
					heal, err := inject(t.Context(), f, target)
					if err != nil {
						t.Fatal(err)
					}
					_, kept := f.(ComponentAway)
					if took := time.Since(began); kept != (took >= time.Minute) {
						t.Errorf("Inject took %s", took)
					}
					left := ""
					if kept {
						left = "[cp away-" + string(c) + "]"
						if h.ofNode {
							node, _, _ := strings.Cut(strings.TrimPrefix(w.seen[0], "nodes=["), "]")
							left = strings.Replace(left, "cp", node, 1)
						}
					}
					if got := fmt.Sprint(w.components.left); kept && got != left || !kept && got != "[]" {
						t.Errorf("left %s, want %s", got, left)
					}
					if bitten := !strings.HasPrefix(w.seen[0], "nodes=[] "); len(w.seen) != 1 || bitten != h.ofNode {
						t.Errorf("seen %q", w.seen)
					}
					if len(w.podNames()) != 7 {
						t.Errorf("%d pods while it is in force", len(w.podNames()))
					}
					for range 2 {
						if err := heal(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					if len(w.healed) != 1 || len(w.components.away)+len(w.components.left) != 0 || len(w.podNames()) != 6 {
						t.Errorf("healed %q, away %q, left %q, %d pods", w.healed, w.components.away, w.components.left, len(w.podNames()))
					}
				})
			})
		}
	}
}

// TestWhatCannotBeAskedIsAskedAfterwards: while the API server is away nobody can ask for a replica.
func TestWhatCannotBeAskedIsAskedAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, target := withControlPlane(t)
		w.fail("get", "deployments", 2, 3) // the first is asked before, the others by the fault
		heal, err := inject(t.Context(), ComponentAway{Component: APIServer, For: time.Minute}, target)
		if err != nil || len(w.podNames()) != 6 {
			t.Fatalf("%v, %d pods", err, len(w.podNames()))
		}
		if err := heal(t.Context()); err != nil || fmt.Sprint(w.scales) != "[7 6]" {
			t.Errorf("%v, scaled %v", err, w.scales)
		}
	})
}

// TestTheManifestsWay: what takes a static pod away and brings it back moves its manifest, and may be done twice.
func TestTheManifestsWay(t *testing.T) {
	root := t.TempDir()
	manifest := filepath.Join(root, manifests, "etcd.yaml")
	must(t, os.MkdirAll(filepath.Dir(manifest), 0o700))
	must(t, os.WriteFile(manifest, []byte("a pod"), 0o600))
	do := func(script string) error {
		script = strings.NewReplacer(manifests, root+manifests, awayFolder, root+awayFolder).Replace(script)
		return exec.CommandContext(t.Context(), "sh", "-c", script, "away", "etcd").Run()
	}
	there := func() bool { _, err := os.Stat(manifest); return err == nil }
	must(t, do(staticPod.restore)) // nothing is away
	must(t, do(staticPod.remove))
	if there() {
		t.Error("it is still there")
	}
	for range 2 {
		must(t, do(staticPod.restore))
		if text, err := os.ReadFile(manifest); string(text) != "a pod" {
			t.Errorf("%q, %v", text, err)
		}
	}
}

// TestProcessesAreKnownByTheirNameAndStart: the shell's own view of a process that is really there.
func TestProcessesAreKnownByTheirNameAndStart(t *testing.T) {
	if _, err := exec.LookPath("pgrep"); err != nil {
		t.Skip("there is no pgrep on this machine: install procps to try how processes are found, which is not tried here")
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc on this machine: nodes have it, and tell by it when a process started, which is not tried here")
	}
	// The kernel keeps 15 characters of a name.
	program := filepath.Join(t.TempDir(), "holdfast-test-of-long-names")
	sleep, err := exec.LookPath("sleep")
	must(t, err)
	text, err := os.ReadFile(sleep)
	must(t, err)
	must(t, os.WriteFile(program, text, 0o700))
	c := exec.CommandContext(t.Context(), program, "60")
	must(t, c.Start())
	look := func(script string) string {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", script, "x", filepath.Base(program)).Output()
		must(t, err)
		return string(out)
	}
	if fields := strings.Fields(look(processes)); len(fields) != 2 || fields[0] != fmt.Sprint(c.Process.Pid) {
		t.Errorf("processes: %q, want %d and when it started", fields, c.Process.Pid)
	}
	look(endAll)
	if err := c.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("it ended with %v", err)
	}
	if got := look(processes); got != "" {
		t.Errorf("after its end: %q", got)
	}
	look(endAll) // nobody is left
}
