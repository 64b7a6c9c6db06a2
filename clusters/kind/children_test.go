package kind

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

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
	child := exec.CommandContext(t.Context(), script, "run", "--name", "holdfast-unseen-worker")
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
func waitFor(child *exec.Cmd) error {
	var exit *exec.ExitError
	if err := child.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}

func TestParentOf(t *testing.T) {
	for stat, want := range map[string]int{
		"42 (podman) S 17 42 42 0":       17,
		"42 (a ) b) (c) R 18 42 42 0":    18,
		"42 (podman) S":                  0,
		"":                               0,
		"42 (podman) S seventeen 42 0 0": 0,
	} {
		if got := parentOf(stat); got != want {
			t.Errorf("parentOf(%q) = %d, want %d", stat, got, want)
		}
	}
}
