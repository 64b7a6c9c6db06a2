package process

import (
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// outputLimit is how long the output of a command that has ended is waited for, where something outside of its group holds it open.
const outputLimit = time.Second

// RunGroup runs a command in a process group of its own, which ends with it: by itself, or with the command's context. A shell that is killed alone leaves
// what it has started, and who waits for the output would wait for that.
func RunGroup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = outputLimit
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it fails if nothing is left
	}
	if errors.Is(err, exec.ErrWaitDelay) { // the command itself has succeeded
		return nil
	}
	return err
}
