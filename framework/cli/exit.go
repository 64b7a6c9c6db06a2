package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/interrupt"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// The exit codes. No command ends with 2 on purpose: Go's runtime ends a process with 2 when it crashes, so a 2 says that there
// is no verdict.
const (
	ExitHeld        = 0                          // every promise held, and every mutant was caught
	ExitViolated    = 1                          // at least one promise was broken, or a mutant was missed
	ExitFailed      = 3                          // the harness or its environment failed before everything could be judged
	ExitUsage       = 4                          // the command was not understood
	ExitUnknown     = 5                          // nothing was broken, but evidence is missing
	ExitInterrupted = 128 + int(syscall.SIGINT)  // SIGINT ended it, and nothing was broken before
	ExitTerminated  = 128 + int(syscall.SIGTERM) // the same of SIGTERM
)

// exitCodes is the table above for the help of commands.
const exitCodes = `Exit codes: 0 everything held; 1 a promise was broken; 3 the harness or its environment failed; 4 the command was not
understood; 5 evidence is missing; 130 and 143 SIGINT or SIGTERM interrupted it, and nothing was broken before. 2 is a crash.`

// Main runs the command line of this process, and returns the code that the process should end with. A signal ends the context of
// the command, and a second one, that is no echo, the process; see package interrupt.
func Main(ctx context.Context, version string) int {
	err := interrupt.Main(ctx, os.Stderr, func(ctx context.Context) error {
		return interrupted(ctx, Command(version).ExecuteContext(ctx))
	})
	var write *fs.PathError
	if nobodyReads := errors.As(err, &write) && write.Path == os.Stdout.Name() && errors.Is(err, syscall.EPIPE); err != nil && !nobodyReads {
		fmt.Fprintln(os.Stderr, "holdfast:", err)
	}
	return ExitCode(err)
}

// interrupted says of a command whose context a signal ended that it was interrupted. What the command did all the same stands: its
// success, a promise that was broken before, and a mistake of usage.
func interrupted(ctx context.Context, err error) error {
	var by interrupt.Signal
	code := ExitCode(err)
	if !errors.As(context.Cause(ctx), &by) || code != ExitFailed && code != ExitUnknown {
		return err // also a run's own word, see cutShort
	}
	return codeError{128 + int(by.By), fmt.Errorf("%w: %w", by, err)}
}

// codeError is an error that asks for an exit code.
type codeError struct {
	code int
	err  error
}

func (e codeError) Error() string { return e.err.Error() }
func (e codeError) Unwrap() error { return e.err }

// usage marks an error as the caller's mistake.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return codeError{ExitUsage, err}
}

// judged turns an outcome into the error that asks for its exit code.
func judged(o verdict.Outcome) error {
	switch o {
	case verdict.Held:
		return nil
	case verdict.Violated:
		return codeError{ExitViolated, errors.New("violated: at least one promise was broken")}
	default:
		return codeError{ExitUnknown, errors.New("unknown: evidence is missing, so nothing can be certified")}
	}
}

// cutShort is the exit code of a run that was interrupted, now or when it was stored: that of the signal. Of a record alone it is
// not known which signal it was. Where it was no signal but a limit, the harness failed.
func cutShort(by string, interrupted, notBegun int) error {
	code := ExitFailed
	if signal := unix.SignalNum(by); signal > 0 {
		code = 128 + int(signal)
	} else if by == "" {
		code = ExitInterrupted
	}
	return codeError{code, fmt.Errorf("interrupted by %s: %d interrupted, %d not begun", cmp.Or(by, "a signal"), interrupted, notBegun)}
}

// failedBefore is the exit code of a run in which the harness failed.
func failedBefore() error {
	return codeError{ExitFailed, errors.New("the harness or its environment failed before everything could be judged; see above")}
}

// leftOf counts what a run was interrupted in and what it did not begin; empty: nothing.
func leftOf(f history.RunFile) string {
	if !f.Cut() {
		return ""
	}
	interrupted, notBegun := f.Left()
	return fmt.Sprintf("; %d interrupted, %d not begun", interrupted, notBegun)
}

// besides is an outcome of a command that also failed to do something else, such as to write the report: a promise that was
// broken counts before what failed, and what failed counts before everything else.
func besides(outcome error, failed ...error) error {
	err := errors.Join(failed...)
	switch {
	case err == nil:
		return outcome
	case ExitCode(outcome) == ExitViolated:
		return codeError{ExitViolated, errors.Join(outcome, err)}
	}
	return codeError{ExitFailed, errors.Join(err, outcome)}
}

// ExitCode is what the process should end with, given what Command's execution returned.
func ExitCode(err error) int {
	var coded codeError
	var by interrupt.Signal
	switch {
	case err == nil:
		return ExitHeld
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &by):
		return 128 + int(by.By)
	default:
		return ExitFailed
	}
}
