package engine

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ha/holdfast/framework/base/self"
)

// host is the machine as Find sees it. Tests replace it.
type host struct {
	// run runs a program and returns its standard output.
	run      func(ctx context.Context, c call) ([]byte, error)
	lookPath func(program string) (string, error)
	readFile func(path string) ([]byte, error)
	exists   func(path string) bool
	// program is the path of the holdfast executable that runs in containers; it may be compiled into cacheDir.
	program func(ctx context.Context, cacheDir string) (string, error)
	uid     int
	limits  limits
	system  string // runtime.GOOS
	arch    string // runtime.GOARCH
	kernel  string // the release of this process's kernel
}

// call is a program to run: its path, arguments, additional environment variables and standard input.
type call struct {
	env   []string
	stdin io.Reader
	path  string
	args  []string
}

// limits are the current hard limits of this process.
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
		program: self.Path,
		uid:     os.Geteuid(),
		limits:  limits{openFiles: hardLimit(unix.RLIMIT_NOFILE), processes: hardLimit(unix.RLIMIT_NPROC)},
		system:  runtime.GOOS,
		arch:    runtime.GOARCH,
		kernel:  kernel(),
	}
}

// kernel is the release of the kernel, such as "6.8.0-45-generic". It is empty if the kernel does not say.
func kernel() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Release[:])
}

// isElsewhere reports whether an engine's containers run on another kernel than this process.
func (h host) isElsewhere(about facts) bool {
	return h.system != "linux" || about.Kernel != "" && h.kernel != "" && about.Kernel != h.kernel
}

// hardLimit returns infinity if the limit cannot be read, so that only other bounds apply.
func hardLimit(resource int) uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(resource, &limit); err != nil {
		return unix.RLIM_INFINITY
	}
	return limit.Max
}

// has reports whether a program is in PATH.
func (h host) has(program string) bool {
	_, err := h.lookPath(program)
	return err == nil
}

// text is the content of a file without surrounding white space. It is empty if the file cannot be read.
func (h host) text(path string) string {
	content, _ := h.readFile(path)
	return string(bytes.TrimSpace(content))
}

// pidMax is the kernel's highest PID, which limits the number of processes.
func (h host) pidMax() uint64 {
	number, err := strconv.ParseUint(h.text("/proc/sys/kernel/pid_max"), 10, 64)
	if err != nil {
		return 1 << 15 // default of the kernel
	}
	return number
}

// unified reports whether the machine has only cgroup v2. If controllers are on v1, also in hybrid mode, crun refuses to run.
func (h host) unified() bool { return h.exists("/sys/fs/cgroup/cgroup.controllers") }

// capabilities is the effective capability set, in the kernel's notation.
func (h host) capabilities() string {
	for _, line := range strings.Split(h.text("/proc/self/status"), "\n") {
		if value, ok := strings.CutPrefix(line, "CapEff:"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
