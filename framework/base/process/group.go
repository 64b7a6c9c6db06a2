package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// outputLimit is how long the output of a command that has ended is waited for, where something outside of its group holds it open.
const outputLimit = time.Second

// RunGroup runs a command in a session of its own, which ends with it: by itself, after a limit, or with the context. A shell that is killed alone leaves
// what it has started, and who waits for the output would wait for that. The command has no terminal: a program that asks a question there fails at once.
func RunGroup(ctx context.Context, limit time.Duration, out io.Writer, argv ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it had not ended after %s, and was killed", limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = outputLimit
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it fails if nothing is left
	}
	switch {
	case errors.Is(err, exec.ErrWaitDelay): // the command itself has succeeded
		return nil
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}
