package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestLastLine(t *testing.T) {
	tests := map[string]struct{ stderr, want string }{
		"nothing":       {"", ""},
		"one":           {"Error: no such container x\n", "Error: no such container x"},
		"several":       {"Trying to pull\nError: no route\n\n", "Error: no route"},
		"warning after": {"Error: gone\ntime=\"2024\" level=warning msg=\"cgroups-v1\"\n", "Error: gone"},
		"log alone":     {"time=1 level=warning msg=a\ntime=2 level=error msg=b\n", "time=2 level=error msg=b"},
		"consequence after": {"docker: Error response from daemon: no\ntime=\"2\" level=error msg=\"error waiting\"\n",
			"docker: Error response from daemon: no"},
		"apt": {"W: old\nE: Failed to fetch x  Temporary failure resolving 'y'\nE: Some files failed to download\n",
			"E: Failed to fetch x  Temporary failure resolving 'y'"},
		"pointer to help": {"docker: Error response from daemon: no\nSee 'docker run --help'.\n",
			"docker: Error response from daemon: no"},
		"newer pointer to help": {"docker: Error response from daemon: no\n\nRun 'docker run --help' for more information\n",
			"docker: Error response from daemon: no"},
	}
	for name, test := range tests {
		if got := lastLine(test.stderr); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// script is an engine whose program is a shell script.
func script(t *testing.T, text string) *Engine {
	t.Helper()
	path := filepath.Join(t.TempDir(), "podman")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return &Engine{name: Podman, path: path, env: []string{"HOLDFAST_TEST=set"}}
}

func TestOutput(t *testing.T) {
	e := script(t, `echo "$HOLDFAST_TEST $*"; echo warning >&2`)
	got, err := e.Output(t.Context(), "ps", "-a")
	if err != nil || string(got) != "set ps -a\n" {
		t.Errorf("%q, %v; want standard output alone, and our environment", got, err)
	}
}

func TestOutputError(t *testing.T) {
	e := script(t, `echo out; echo first >&2; echo "Error: no such object" >&2; exit 125`)
	got, err := e.Output(t.Context(), "inspect", strings.Repeat("x", 300))
	want := "run podman inspect " + strings.Repeat("x", 160-len("podman inspect ")) +
		"...: exit status 125: Error: no such object"
	if err == nil || err.Error() != want {
		t.Errorf("error\n%v\nwant\n%s", err, want)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 125 {
		t.Errorf("%v, want an *exec.ExitError within", err)
	}
	if string(got) != "out\n" {
		t.Errorf("output %q, want what was written before the error", got)
	}
}

// Regression: on a full disk podman printed a Go structure of 12,000 characters.
func TestWhatACommandSaidIsShown(t *testing.T) {
	e := script(t, `printf 'Error: %05000d' 7 >&2; exit 1`)
	_, err := e.Output(t.Context(), "load")
	if err == nil || len(err.Error()) > 600 || !strings.HasSuffix(err.Error(), "000...") {
		t.Errorf("an error of %d characters: %v", len(fmt.Sprint(err)), err)
	}
}

func TestOutputAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	impatient := errors.New("stopped by the user")
	cancel(impatient)
	if _, err := script(t, "exit 0").Output(ctx, "ps"); !errors.Is(err, impatient) {
		t.Errorf("%v, want the cause of the end", err)
	}
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
