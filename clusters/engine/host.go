package engine

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// host is the machine as Find sees it. Tests put another in its place.
type host struct {
	// run runs a program and returns its standard output.
	run      func(ctx context.Context, c call) ([]byte, error)
	lookPath func(program string) (string, error)
	readFile func(path string) ([]byte, error)
	exists   func(path string) bool
	uid      int
	limits   limits
}

// call is a program to run: its path, what is added to the environment, and what it reads.
type call struct {
	env   []string
	stdin io.Reader
	path  string
	args  []string
}

// limits are the hard limits in force.
type limits struct{ openFiles, processes uint64 }

func thisHost() host {
	return host{
		run: func(ctx context.Context, c call) ([]byte, error) {
			cmd := command(ctx, c.env, c.path, c.args...)
			cmd.Stdin = c.stdin
			return output(ctx, cmd)
		},
		lookPath: exec.LookPath,
		readFile: os.ReadFile,
		exists: func(path string) bool {
			_, err := os.Stat(path)
			return err == nil
		},
		uid:    os.Geteuid(),
		limits: limits{openFiles: hardLimit(unix.RLIMIT_NOFILE), processes: hardLimit(unix.RLIMIT_NPROC)},
	}
}

// hardLimit of an unknown resource is unlimited: then only the other bounds count.
func hardLimit(resource int) uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(resource, &limit); err != nil {
		return unix.RLIM_INFINITY
	}
	return limit.Max
}

// has says whether a program can be found.
func (h host) has(program string) bool {
	_, err := h.lookPath(program)
	return err == nil
}

// text is the content of a file without the space around it; empty if it cannot be read.
func (h host) text(path string) string {
	content, _ := h.readFile(path)
	return string(bytes.TrimSpace(content))
}

// pidMax is the highest process number of the kernel, and so a bound on processes.
func (h host) pidMax() uint64 {
	number, err := strconv.ParseUint(h.text("/proc/sys/kernel/pid_max"), 10, 64)
	if err != nil {
		return 1 << 15 // the kernel's own default
	}
	return number
}

// unified says whether the machine has cgroup v2 alone. With controllers on v1 (also on a mix of both), crun refuses.
func (h host) unified() bool { return h.exists("/sys/fs/cgroup/cgroup.controllers") }

// capabilities is the set in force, as the kernel writes it.
func (h host) capabilities() string {
	for _, line := range strings.Split(h.text("/proc/self/status"), "\n") {
		if value, ok := strings.CutPrefix(line, "CapEff:"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
