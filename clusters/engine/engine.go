// Package engine finds a container engine that can run privileged containers, which Kubernetes nodes in containers require. If
// there is none, it installs one where that is possible and allowed.
//
// It does not create clusters, build images or pull images, and it never modifies the host's engine configuration.
package engine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// The supported engines, in the order in which Find tries them.
const (
	Docker = "docker"
	Podman = "podman"
)

// interruptGrace is how long an engine's command may take to exit after SIGTERM. Podman holds locks on its storage: a command
// that is killed can leave an incomplete layer.
const interruptGrace = 5 * time.Second

// Engine is a container engine that has run a privileged container. Find returns one.
type Engine struct {
	name      string
	path      string
	env       []string
	facts     facts
	refusals  []Refusal
	elsewhere bool
}

// facts are what an engine reports about itself.
type facts struct {
	Version    string
	Runtime    string // the OCI runtime: runc, crun, ...
	Driver     string // the storage driver: overlay, vfs, ...
	StorageDir string // folder of images and containers
	Identity   string // distinguishes daemons of the same version
	Kernel     string // the release of the kernel that containers run on
	Arch       string // in Go's words: amd64, arm64
	CPUs       int    // that containers see
}

// GoArch is an architecture as Go and images name it; said is what an engine or the kernel calls it.
func GoArch(said string) string {
	if known, ok := map[string]string{"x86_64": "amd64", "aarch64": "arm64"}[said]; ok {
		return known
	}
	return said
}

// Name is "docker" or "podman".
func (e *Engine) Name() string { return e.name }

// Version is the version of podman, or of docker's daemon.
func (e *Engine) Version() string { return e.facts.Version }

// Runtime is the OCI runtime, for example "runc".
func (e *Engine) Runtime() string { return e.facts.Runtime }

// StorageDriver is the storage driver, for example "overlay" or "vfs".
func (e *Engine) StorageDriver() string { return e.facts.Driver }

// StorageDir is the folder of images and containers. If the daemon runs on another machine, the path refers to that machine.
func (e *Engine) StorageDir() string { return e.facts.StorageDir }

// Elsewhere reports whether containers run on another kernel than this process: in the Linux machine of Docker Desktop, Colima or podman on a Mac,
// or behind a remote daemon. What this process sees of its own kernel says nothing about nodes there.
func (e *Engine) Elsewhere() bool { return e.elsewhere }

// Machine is what nodes run on: a Linux machine beside macOS, a remote one, or the one of this process.
func (e *Engine) Machine() (cpus int, arch, kernel string) {
	return e.facts.CPUs, e.facts.Arch, e.facts.Kernel
}

// Refusals are the engines that Find rejected before this one, and why.
func (e *Engine) Refusals() []Refusal { return e.refusals }

// Environ are the environment variables that a caller of the engine must add, as KEY=value.
func (e *Engine) Environ() []string { return append([]string(nil), e.env...) }

// Apply sets Environ in this process, for libraries that run the engine's command line themselves, such as kind's.
func (e *Engine) Apply() error {
	for _, pair := range e.env {
		key, value, _ := strings.Cut(pair, "=")
		if err := os.Setenv(key, value); err != nil {
			return fmt.Errorf("set %s for %s: %w", key, e.name, err)
		}
	}
	return nil
}

// Command prepares a command of the engine with Environ. When ctx ends, the command gets SIGTERM, and SIGKILL five seconds
// later. It runs in its own process group: Ctrl-C reaches it only through ctx, and so cannot interrupt the revert of a fault.
func (e *Engine) Command(ctx context.Context, args ...string) *exec.Cmd {
	return command(ctx, e.env, e.path, args...)
}

// Output runs a command of the engine and returns its standard output. The error names the command, ends with the most relevant
// line of its standard error, and wraps exec.ExitError.
func (e *Engine) Output(ctx context.Context, args ...string) ([]byte, error) {
	return output(ctx, e.Command(ctx, args...))
}

func command(ctx context.Context, env []string, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = interruptGrace
	return cmd
}
