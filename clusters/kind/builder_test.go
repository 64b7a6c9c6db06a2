package kind

import (
	"context"
	"errors"
	"log/slog"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	kindexec "sigs.k8s.io/kind/pkg/exec"

	"github.com/holdfast-ha/holdfast/framework/poll"
)

// A failed claim leaves nothing behind, but never removes another cluster's network.
func TestClaimCleansUpAfterItself(t *testing.T) {
	e := newFakeEngine("podman")
	b := builder{e: e, log: slog.Default(), name: "x", record: record{Spec: testSpec}}
	e.fail = func(args []string) error {
		if args[1] == "create" {
			e.networks["holdfast-x"] = map[string]string{} // created, then interrupted
			return context.Canceled
		}
		return nil
	}
	if err := b.claim(t.Context()); !errors.Is(err, context.Canceled) || len(e.networks) != 0 {
		t.Errorf("left %v, %v", keys(e.networks), err)
	}
	e.fail = nil
	if err := b.claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.claim(t.Context()); !errors.Is(err, errTaken) || len(e.networks) != 1 {
		t.Errorf("left %v, %v", keys(e.networks), err)
	}
}

func TestExplain(t *testing.T) {
	plain := errors.New("plain")
	if err := explain(plain); err.Error() != "plain" {
		t.Errorf("an error of no command: %v", err)
	}
	if err := explain(nil); err != nil {
		t.Errorf("no error: %v", err)
	}
	failed := kindexec.Command("sh", "-c", "for i in 1 2 3 4 5 6 7 8; do echo line $i; done; exit 3").Run()
	err := explain(failed)
	if err == nil || !strings.HasSuffix(err.Error(), ": line 3 | line 4 | line 5 | line 6 | line 7 | line 8") {
		t.Errorf("got %v", err)
	}
}

// children must count a child process that names the cluster, and no other.
func TestChildren(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc on this machine")
	}
	begin := children("unseen")
	script := filepath.Join(t.TempDir(), "wait")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nread line\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	child := osexec.CommandContext(t.Context(), script, "run", "--name", "holdfast-unseen-worker")
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	seen, others := children("unseen"), children("un")
	if err := errors.Join(input.Close(), waitFor(child)); err != nil {
		t.Fatal(err)
	}
	if begin != 0 || seen != 1 || others != 0 || children("unseen") != 0 {
		t.Errorf("before %d, during %d, of another cluster %d, after %d", begin, seen, others, children("unseen"))
	}
}

// waitFor waits for a command and ignores its exit status: its shell exits with an error when its input ends without a line.
func waitFor(child *osexec.Cmd) error {
	var exit *osexec.ExitError
	if err := child.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}

func TestLimitsAreOrdered(t *testing.T) {
	if actWithin <= poll.Interval || removeWithin <= actWithin || probeLimit >= defaultProveWithin || stopWithin >= actWithin {
		t.Error("the limit of a step is not below the limit of the operation that contains it")
	}
	if got := (Options{}).proveWithin(); got != defaultProveWithin {
		t.Errorf("default %s", got)
	}
	if got := (Options{ProveWithin: time.Second}).proveWithin(); got != time.Second {
		t.Errorf("given %s", got)
	}
}
