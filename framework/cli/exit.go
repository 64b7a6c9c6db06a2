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

	"github.com/holdfast-ha/holdfast/framework/interrupt"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// The exit codes. No command exits with 2 on purpose: Go's runtime exits with 2 when it crashes, so 2 means that there is no verdict.
const (
	ExitHeld        = 0                          // every promise held, and every mutant was caught
	ExitViolated    = 1                          // at least one promise was broken, or a mutant was missed
	ExitFailed      = 3                          // the harness or its environment failed before everything could be judged
	ExitUsage       = 4                          // the command line is wrong
	ExitUnknown     = 5                          // no promise was broken, but evidence is missing
	ExitInterrupted = 128 + int(syscall.SIGINT)  // SIGINT interrupted it, and no promise was broken before
	ExitTerminated  = 128 + int(syscall.SIGTERM) // the same for SIGTERM
)

// exitCodes is the table above, for help texts.
const exitCodes = `Exit codes: 0 every promise held; 1 a promise was broken, or a mutant was missed; 3 the harness or its environment
failed; 4 the command line is wrong; 5 evidence is missing; 130 and 143 SIGINT or SIGTERM interrupted the command, and no promise was
broken before. 2 is a crash.`

// Main runs the command line of this process and returns its exit code. A signal cancels the command's context. A second signal ends
// the process, unless it is an echo of the first; see package interrupt.
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

// interrupted replaces the error of a command that a signal interrupted, unless the command succeeded, found a broken promise, or was
// used wrongly.
func interrupted(ctx context.Context, err error) error {
	var by interrupt.Signal
	code := ExitCode(err)
	if !errors.As(context.Cause(ctx), &by) || code != ExitFailed && code != ExitUnknown {
		return err // or the run has the signal's code already, see cutShort
	}
	return codeError{128 + int(by.By), fmt.Errorf("%w: %w", by, err)}
}

// codeError is an error with an exit code.
type codeError struct {
	code int
	err  error
}

func (e codeError) Error() string { return e.err.Error() }
func (e codeError) Unwrap() error { return e.err }

// usage marks an error as a usage error.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return codeError{ExitUsage, err}
}

// judged is the error with the exit code of an outcome.
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

// cutShort is the exit code of an interrupted run, now or when it was stored: the signal's. A record does not name the signal. If a
// time limit interrupted the run, and not a signal, the harness failed.
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

// besides is the outcome of a command that also had other errors, for example while it wrote the report. A broken promise takes
// precedence over these errors, and these errors over every other outcome.
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

// ExitCode is the exit code for the error that Command's execution returned.
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
