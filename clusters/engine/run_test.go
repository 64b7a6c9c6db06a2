package engine

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// script is an engine whose program is a shell script.
func script(t *testing.T, text string) *Engine {
	t.Helper()
	path := filepath.Join(t.TempDir(), "podman")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return &Engine{name: Podman, path: path, env: []string{"HOLDFAST_TEST=set"}}
}

func TestCommandIsAskedToEndBeforeItIsKilled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd := script(t, "trap 'exit 3' TERM; echo ready; while true; do sleep 0.01; done").Command(ctx, "wait")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Errorf("%q, %v; want that it is ready", line, err)
	}
	if group, err := syscall.Getpgid(cmd.Process.Pid); err != nil || group != cmd.Process.Pid {
		t.Errorf("process %d is in the process group %d, %v; want its own", cmd.Process.Pid, group, err)
	}
	cancel()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("%v, want the exit status of a command that exited on SIGTERM", err)
	}
}
