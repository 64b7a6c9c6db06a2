package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir()) // pwd names the folder without links, and macOS has one in each folder for temporary files
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the test is over
	out, err := run(t.Context(), call{
		dir: dir, env: []string{"WORD=x y"}, name: "/bin/sh", args: []string{"-c", `cat; echo "$WORD"; pwd; echo note >&2`},
		stdin: strings.NewReader("in\n"), log: log,
	})
	if want := "in\nx y\n" + dir + "\n"; err != nil || string(out) != want {
		t.Errorf("got %q, %v; want %q", out, err, want)
	}
	if text, err := os.ReadFile(log.Name()); err != nil || !strings.Contains(string(text), "note") || !strings.Contains(string(text), "x y") {
		t.Errorf("log %q, %v", text, err)
	}
}

func TestRunFails(t *testing.T) {
	_, err := run(t.Context(), call{name: "/bin/sh", args: []string{"-c", "echo 'go: downloading x' >&2; echo why >&2; exit 3"}})
	want := "run sh -c echo 'go: downloading x' >&2; echo why >&2; exit 3: exit status 3:\n  why"
	if message(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = run(t.Context(), call{name: "/nonexistent/" + strings.Repeat("x", 200)})
	if !errors.Is(err, os.ErrNotExist) || len(err.Error()) > 500 {
		t.Errorf("got %v", err)
	}
}

// Child processes end with the program: otherwise a compiler's children continue and write into a folder that is gone.
func TestRunEndsTheWholeGroup(t *testing.T) {
	stop := errors.New("Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	file := filepath.Join(t.TempDir(), "pid")
	over := make(chan error, 1)
	go func() {
		_, err := run(ctx, call{name: "/bin/sh", args: []string{"-c", fmt.Sprintf("sleep 300 & echo $! > %s.new; mv %s.new %s; wait", file, file, file)}})
		over <- err
	}()
	var pid int
	if !eventually(func() bool {
		text, err := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil && pid > 0
	}) {
		t.Fatal("it did not start")
	}
	cancel(stop)
	if err := <-over; !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if !eventually(func() bool { return syscall.Kill(pid, 0) != nil || zombie(pid) }) {
		t.Errorf("process %d lives on", pid)
	}
}

// zombie returns true if a process has exited but its parent has not waited for it, as happens in a container whose PID 1
// does not reap.
func zombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(text), ") Z ")
}

func eventually(is func() bool) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(20 * time.Second); ; {
		if is() {
			return true
		}
		select {
		case <-end:
			return false
		case <-tick.C:
		}
	}
}

func TestLookPathKnowsRootsFolders(t *testing.T) {
	t.Setenv("PATH", "/nonexistent")
	if _, err := lookPath("no-such-program"); err == nil {
		t.Error("found what is not there")
	}
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		found, err := filepath.Glob(dir + "/*")
		if err != nil || len(found) == 0 {
			continue
		}
		if got, err := lookPath("ldconfig"); err == nil && !strings.Contains(got, "sbin/") {
			t.Errorf("ldconfig is %s", got)
		}
		return
	}
}
