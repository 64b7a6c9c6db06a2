package fault

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
)

// TestAZoneTalksToItself: its nodes and their pods are let through, all others are not; a node alone talks to nobody.
func TestAZoneTalksToItself(t *testing.T) {
	w := newWorld(6, "wax", "way", "wb")
	w.nodes[2].(*machine).role = clusters.LoadNode
	heal, err := inject(t.Context(), Partition{Zone: true}, w.target())
	must(t, err)
	const peers = "{ 10.0.0.1, 10.244.1.0/24, 10.0.0.2, 10.244.2.0/24 }"
	for _, n := range w.nodes[:2] {
		rules := n.(*machine).network.rules
		for _, want := range []string{
			"table inet holdfast_fault {\n", `iifname "eth0" jump drop_in; }`, `oifname "eth0" jump drop_out; }`, "prerouting priority -300;",
			"chain drop_in { ip saddr " + peers + " accept; counter drop; }", "chain drop_out { ip daddr " + peers + " accept; counter drop; }",
		} {
			if !strings.Contains(rules, want) {
				t.Errorf("%s: no %s in\n%s", n.Name(), want, rules)
			}
		}
	}
	if w.nodes[2].(*machine).network.rules != "" {
		t.Error("the other zone is cut off, too")
	}
	must(t, heal(t.Context()))
	const want = "wax is Ready and reaches a Service; way is Ready and reaches a Service; 6 pods exist"
	if len(w.healed) != 1 || !strings.HasPrefix(w.healed[0], want) {
		t.Errorf("healed %q", w.healed)
	}
	alone := newWorld(6, "w1", "w2")
	must(t, second(inject(t.Context(), Partition{Worker: 1}, alone.target())))
	if rules := alone.nodes[0].(*machine).network.rules; strings.Contains(rules, "accept") || strings.Count(rules, "counter drop") != 2 {
		t.Errorf("a node alone has\n%s", rules)
	}
}

// TestWhoeverCutsANodeOffLeavesTheUndoFirst: without it, nothing is dropped; and with it, a node may undo all by itself.
func TestWhoeverCutsANodeOffLeavesTheUndoFirst(t *testing.T) {
	w := newWorld(6, "w1", "w2", "w3")
	m := w.nodes[1].(*machine)
	must(t, m.network.leave(partitionUndo, "somebody else's"))
	heal, err := inject(t.Context(), Partition{Worker: 2}, w.target())
	const want = "leave the undo partition on w2: somebody has left it before: run holdfast heal"
	if err == nil || err.Error() != want || m.network.drops() || len(w.seen) != 0 {
		t.Errorf("got %v, seen %q", err, w.seen)
	}
	must(t, heal(t.Context()))
	must(t, second(inject(t.Context(), Partition{Worker: 2}, w.target())))
	if !strings.Contains(m.network.left[partitionUndo], "nft delete table inet holdfast_fault") {
		t.Errorf("left: %q", m.network.left)
	}
}

// TestAPartitionThatCannotBeIsAnError, and nothing is touched then.
func TestAPartitionThatCannotBeIsAnError(t *testing.T) {
	for want, s := range map[string]struct {
		fault   Partition
		workers []string
		spoil   func(*world)
	}{
		"partition of worker 1: there is no node that would stay": {Partition{Worker: 1}, []string{"w1"}, func(*world) {}},
		"partition of worker 1: the probes do not all pass before anything was done: probes of w1 from w2: refused; the other way: answered; on the spot: refused": {
			Partition{Worker: 1}, []string{"w1", "w2"}, func(w *world) { w.nodes[0].(*machine).kubelet.config += "refuses" }},
		"partition of worker 1: probe 10.0.0.1 from w2: no such container": {
			Partition{Worker: 1}, []string{"w1", "w2"}, func(w *world) { w.nodes[1].(*machine).err = errors.New("no such container") }},
	} {
		w := newWorld(6, s.workers...)
		s.spoil(w)
		heal, err := inject(t.Context(), s.fault, w.target())
		if err == nil || err.Error() != want || len(w.seen) != 0 || w.nodes[0].(*machine).network.drops() || heal == nil {
			t.Errorf("got %v, seen %q\nwant %s", err, w.seen, want)
		}
	}
}

// TestWhatAKernelLacksIsNotSupported: neither seen, nor an error of another kind; and nothing is left on the node.
func TestWhatAKernelLacksIsNotSupported(t *testing.T) {
	for lacks, want := range map[string]bool{
		"refused: Error: Specified qdisc kind is unknown.\n":                                               true,
		"refused: RTNETLINK answers: No such file or directory":                                            true,
		"refused: /dev/stdin:2:7-9: Error: Could not process rule: Operation not supported\n\tchain\n\t^^": true,
		"refused: RTNETLINK answers: File exists":                                                          false,
		"refused: RTNETLINK answers: Operation not permitted":                                              false,
		"refused: sh: 1: nft: not found":                                                                   false,
		"refused: nft: error while loading shared libraries: libnftables.so.1: No such file or directory":  false,
		"Error: Specified qdisc kind is unknown.":                                                          false, // who printed that?
	} {
		for _, f := range []Fault{Latency{Delay: 100 * time.Millisecond, Worker: 1}, PacketLoss{Percent: 10, Worker: 1}} {
			w := newWorld(6, "w1", "w2")
			m := w.nodes[0].(*machine)
			m.network.lacks = lacks
			heal, err := inject(t.Context(), f, w.target())
			var no *NotSupported
			if errors.As(err, &no) != want || err == nil || len(w.seen) != 0 {
				t.Errorf("%s: %v, seen %q", f, err, w.seen)
			}
			must(t, heal(t.Context()))
			if len(m.network.left) != 0 {
				t.Errorf("left: %q", m.network.left)
			}
		}
	}
}

// TestAToolThatIsMissingIsAnError: what an engine or a shell cannot find says nothing of a kernel.
func TestAToolThatIsMissingIsAnError(t *testing.T) {
	for _, missing := range []string{
		`exec: "sh": executable file not found in $PATH`, "sh: nft: not found", "tc is not in the node's image",
		"crun: open /sys/fs/cgroup/x: No such file or directory",
	} {
		w := newWorld(6, "w1", "w2")
		m := w.nodes[0].(*machine)
		m.exec = func(m *machine, command []string) ([]byte, error) {
			if command[3] == "latency" {
				return nil, errors.New(missing)
			}
			exec := m.exec
			m.exec = nil
			defer func() { m.exec = exec }()
			return m.Exec(t.Context(), command...)
		}
		_, err := inject(t.Context(), Latency{Delay: 100 * time.Millisecond, Worker: 1}, w.target())
		if no := (*NotSupported)(nil); err == nil || errors.As(err, &no) || !strings.Contains(err.Error(), missing) {
			t.Errorf("got %v", err)
		}
	}
}

// TestImpairScript runs what is run on nodes: a tool that is missing fails, one that fails is quoted, all of its lines, and one that
// does not says nothing.
func TestImpairScript(t *testing.T) {
	run := func(tool, command string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", impairScript, "latency", tool, command).Output()
		return string(out), err
	}
	if out, err := run("no-such-tool", "no-such-tool add"); err == nil || out != "" {
		t.Errorf("a tool that is missing: %q, %v", out, err)
	}
	if out, err := run("sh", "echo it says; echo more >&2; exit 2"); err != nil || out != "refused: it says\nmore" {
		t.Errorf("a tool that fails: %q, %v", out, err)
	}
	if out, err := run("sh", "echo done"); err != nil || out != "" {
		t.Errorf("a tool that does what it is told: %q, %v", out, err)
	}
}

// TestAnImpairmentLastsAsLongAsMostProbesAreHit: a single slow probe of forty is what a busy machine has without any fault.
func TestAnImpairmentLastsAsLongAsMostProbesAreHit(t *testing.T) {
	w := newWorld(6, "w1", "w2")
	must(t, second(inject(t.Context(), Latency{Delay: 100 * time.Millisecond, Worker: 1}, w.target())))
	for slow, want := range map[int]bool{0: false, 1: false, 15: false, 16: true, probes: true} {
		w.nodes[1].(*machine).exec = func(*machine, []string) ([]byte, error) {
			return []byte(strings.Repeat("0.121\n", slow) + strings.Repeat("0.001\n", probes-slow)), nil
		}
		if holds, saw, err := w.lasting(t.Context()); err != nil || holds != want {
			t.Errorf("%d slow probes: still in force: %t, %s, %v", slow, holds, saw, err)
		}
	}
}

// TestAnImpairmentIsMeasured: how many probes it hit is told, for no watch of the cluster sees one; and numbers that make no
// sense are errors.
func TestAnImpairmentIsMeasured(t *testing.T) {
	w := newWorld(6, "w1", "w2")
	must(t, second(inject(t.Context(), PacketLoss{Percent: 10, Worker: 1}, w.target())))
	const want = "of 40 connections from w2 to w1, 8 got no answer to their first packet"
	if w.hit != 8 || len(w.seen) != 1 || !strings.HasSuffix(w.seen[0], want) {
		t.Errorf("hit %d, seen %q", w.hit, w.seen)
	}
	for _, f := range []Fault{PacketLoss{}, PacketLoss{Percent: 100}, Latency{}, Latency{Delay: time.Second}} {
		if _, err := inject(t.Context(), f, w.target()); err == nil || !strings.Contains(err.Error(), "it must be from 1 to ") {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// TestAFrozenMachineIsThawedAndSeenBack: thawing alone is not enough, for its node may count as lost for a while yet.
func TestAFrozenMachineIsThawedAndSeenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6, "w1", "w2", "w3")
		heal, err := inject(t.Context(), NodePause{Worker: 1}, w.target())
		must(t, err)
		const want = "the engine says w1 is paused, and its kubelet port is silent"
		if len(w.seen) != 1 || !strings.HasSuffix(w.seen[0], want) {
			t.Errorf("seen %q", w.seen)
		}
		must(t, heal(t.Context()))
		if m := w.nodes[0].(*machine); m.starts != 1 || m.is() != clusters.Running || len(w.healed) != 1 {
			t.Errorf("it is %s, and was waited for %d times; healed %q", m.is(), m.starts, w.healed)
		}
	})
}
