// Package engine finds a container engine that can run a privileged container, which is what a Kubernetes node in a
// container needs, and installs one where that is possible and allowed.
//
// It does not make clusters, build images or pull anything, and it never writes the host's own engine configuration.
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

// The engines that holdfast knows, in the order in which Find tries them.
const (
	Docker = "docker"
	Podman = "podman"
)

// interruptGrace is how long an engine's command may take to end after it was asked to. Podman holds locks on its
// storage; a command that is killed outright can leave a half-made layer behind.
const interruptGrace = 5 * time.Second

// Engine is a container engine that was seen to run a privileged container. Make one with Find.
type Engine struct {
	name     string
	path     string
	env      []string
	facts    facts
	refusals []Refusal
}

// facts are what an engine says of itself.
type facts struct {
	Version    string
	Runtime    string // the OCI runtime: runc, crun, ...
	Driver     string // the storage driver: overlay, vfs, ...
	StorageDir string // where images and containers lie
	Identity   string // differs between two daemons of the same version
}

// Name is "docker" or "podman".
func (e *Engine) Name() string { return e.name }

// Version is the engine's own version; for docker, that of the daemon.
func (e *Engine) Version() string { return e.facts.Version }

// Runtime is the OCI runtime that starts containers, for example "runc".
func (e *Engine) Runtime() string { return e.facts.Runtime }

// StorageDriver is how layers are stored, for example "overlay" or "vfs".
func (e *Engine) StorageDriver() string { return e.facts.Driver }

// StorageDir is the folder of images and containers. With a daemon on another machine it is a path over there.
func (e *Engine) StorageDir() string { return e.facts.StorageDir }

// Refusals are the engines that were tried before this one, and why they would not do.
func (e *Engine) Refusals() []Refusal { return e.refusals }

// Environ is what must be added to the environment of anything that calls the engine, as KEY=value.
func (e *Engine) Environ() []string { return append([]string(nil), e.env...) }

// Apply sets Environ in this process, for libraries that call the engine's command line themselves, as kind's does.
func (e *Engine) Apply() error {
	for _, pair := range e.env {
		key, value, _ := strings.Cut(pair, "=")
		if err := os.Setenv(key, value); err != nil {
			return fmt.Errorf("set %s for %s: %w", key, e.name, err)
		}
	}
	return nil
}

// Command is the engine's command line with Environ. When ctx ends, the command is asked to end, and is killed if it
// has not done so five seconds later. It is in a process group of its own: a Ctrl-C meant for holdfast reaches
// it through ctx only, so that it cannot cut off the undoing of a fault.
func (e *Engine) Command(ctx context.Context, args ...string) *exec.Cmd {
	return command(ctx, e.env, e.path, args...)
}

// Output runs the engine's command line and returns its standard output. The error names the command and ends with
// the last line of what it wrote to standard error; exec.ExitError lies within.
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
