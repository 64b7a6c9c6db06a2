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
