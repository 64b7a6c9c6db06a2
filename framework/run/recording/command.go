package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// CommandError is how a recorded command ended, if it did not succeed. It breaks no promise.
type CommandError struct{ error }

func (e CommandError) Unwrap() error { return e.error }

// besides is an error without how a command ended, which is in the command's step and weakens no evidence; nil: there is nothing else.
func besides(err error) error {
	var all interface{ Unwrap() []error }
	if errors.As(err, &all) {
		var rest []error
		for _, one := range all.Unwrap() {
			rest = append(rest, besides(one))
		}
		return errors.Join(rest...)
	}
	if failed := (CommandError{}); errors.As(err, &failed) {
		return nil
	}
	return err
}

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Command is a body that runs a command of the user's, with its environment, and records when it ran and how it ended. A signal interrupts
// the command as well.
func Command(command []string, environ []string, io Streams) Body {
	return func(ctx context.Context, s *Session) error {
		s.Say("running %s", prose.Shorten(strings.Join(command, " "), 200))
		began := time.Now()
		err := s.Step(history.Step{What: history.CommandStep}, func() error { return run(ctx, command, environ, io) })
		if err != nil {
			s.Say("the command ended after %s: %v", time.Since(began).Round(time.Second), err)
			return err
		}
		s.Say("the command succeeded after %s", time.Since(began).Round(time.Second))
		return nil
	}
}

// interruptGrace is how long an interrupted command may take to end by itself.
const interruptGrace = 30 * time.Second

func run(ctx context.Context, command, environ []string, io Streams) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = io.In, io.Out, io.Err, environ
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = interruptGrace
	if err := cmd.Run(); err != nil {
		return CommandError{fmt.Errorf("%s: %w", filepath.Base(command[0]), err)}
	}
	return nil
}

// Wait is a body that does nothing for some time, or until a signal ends it if the time is zero. A record that can no longer be written ends it, too.
func Wait(span time.Duration) Body {
	return func(ctx context.Context, s *Session) error {
		var over <-chan time.Time
		if span > 0 {
			timer := time.NewTimer(span)
			defer timer.Stop()
			over = timer.C
		}
		select {
		case <-over:
		case <-ctx.Done(): // a signal ends the recording as the time does
		case <-s.board.Broken(): // what happens from now on proves nothing
			return s.board.Err()
		}
		return nil
	}
}

// Environ is this process's environment for a command, whose kubectl then uses the recorded cluster and no other: a file that names the context
// comes before the kubeconfigs that are used anyway. It has no credentials. Remove removes it. Without a context nothing changes.
func Environ(context, kubeconfig string) (environ []string, remove func(), err error) {
	environ, remove = os.Environ(), func() {}
	if context == "" {
		return environ, remove, nil
	}
	if kubeconfig = cmp.Or(kubeconfig, os.Getenv("KUBECONFIG")); kubeconfig == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, nil, err
		}
		kubeconfig = filepath.Join(home, ".kube", "config")
	}
	file, err := os.CreateTemp("", "holdfast-context-*.yaml")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _ = os.Remove(file.Name()) } // it says nothing but a name
	_, err = fmt.Fprintf(file, "apiVersion: v1\nkind: Config\ncurrent-context: %q\n", context)
	if err := errors.Join(err, file.Close()); err != nil {
		remove()
		return nil, nil, err
	}
	return append(environ, "KUBECONFIG="+file.Name()+string(os.PathListSeparator)+kubeconfig), remove, nil
}
