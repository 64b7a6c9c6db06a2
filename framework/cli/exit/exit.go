// Package exit has the exit codes of holdfast's commands, and the errors that lead to them.
package exit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ha/holdfast/framework/app/manifests"
	"github.com/holdfast-ha/holdfast/framework/base/interrupt"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// The exit codes. No command exits with 2 on purpose: Go's runtime exits with 2 when it crashes, so 2 means that there is no verdict.
const (
	Held        = 0                          // every promise held, and every mutant was caught
	Violated    = 1                          // at least one promise was broken, or a mutant was missed
	Failed      = 3                          // the harness or its environment failed before everything could be judged
	BadUsage    = 4                          // the command line is wrong
	Unknown     = 5                          // no promise was broken, but evidence is missing
	Interrupted = 128 + int(syscall.SIGINT)  // SIGINT interrupted it, and no promise was broken before
	Terminated  = 128 + int(syscall.SIGTERM) // the same for SIGTERM
)

// Codes is the table above, for help texts.
const Codes = `Exit codes: 0 every promise held; 1 a promise was broken, or a mutant was missed; 3 the harness or its environment
failed; 4 the command line is wrong; 5 evidence is missing; 130 and 143 SIGINT or SIGTERM interrupted the command, and no promise was
broken before. 2 is a crash.`

// AfterSignal replaces the error of a command that a signal interrupted, unless the command succeeded, found a broken promise, or was
// used wrongly.
func AfterSignal(ctx context.Context, err error) error {
	var by interrupt.Signal
	var last final
	code := Code(err)
	if !errors.As(context.Cause(ctx), &by) || code != Failed && code != Unknown || errors.As(err, &last) {
		return err // or the run has the signal's code already, see CutShort
	}
	return codeError{128 + int(by.By), fmt.Errorf("%w: %w", by, err)}
}

// With is an error with an exit code.
func With(code int, err error) error { return codeError{code, err} }

// Final is an error that keeps its exit code although a signal ended the command: for commands that a signal ends as it should.
func Final(err error) error {
	if err == nil {
		return nil
	}
	return final{err}
}

type final struct{ error }

func (f final) Unwrap() error { return f.error }

// codeError is an error with an exit code.
type codeError struct {
	code int
	err  error
}

func (e codeError) Error() string { return e.err.Error() }
func (e codeError) Unwrap() error { return e.err }

// Usage marks an error as a usage error, unless it has an exit code of its own.
func Usage(err error) error {
	var coded codeError
	var by interrupt.Signal
	if err == nil || errors.As(err, &coded) || errors.As(err, &by) {
		return err
	}
	return codeError{BadUsage, err}
}

// Unread is the error of an application that cannot be read: what was asked for is wrong, unless this machine has no Helm.
func Unread(err error) error {
	if errors.Is(err, manifests.ErrNoHelm) {
		return With(Failed, err)
	}
	return Usage(err)
}

// Judged is the error with the exit code of an outcome.
func Judged(o verdict.Outcome) error {
	switch o {
	case verdict.Held:
		return nil
	case verdict.Violated:
		return codeError{Violated, errors.New("violated: at least one promise was broken")}
	default:
		return codeError{Unknown, errors.New("unknown: evidence is missing, so nothing can be certified")}
	}
}

// Run is the error with the exit code of a whole run, now or when it was stored. by, interrupted and notBegun are those of CutShort.
func Run(w judge.Worth, by string, interrupted, notBegun int) error {
	switch w {
	case judge.RunInterrupted:
		return CutShort(by, interrupted, notBegun)
	case judge.RunFailed:
		return FailedBefore()
	}
	return Judged(verdict.Outcome(w))
}

// CutShort is the exit code of an interrupted run, now or when it was stored: the signal's. A record does not name the signal. If a
// time limit interrupted the run, and not a signal, the harness failed. Of what a time budget left out, evidence is missing.
func CutShort(by string, interrupted, notBegun int) error {
	code := Failed
	if strings.HasPrefix(by, runfolder.OutOfTime) {
		return codeError{Unknown, fmt.Errorf("unknown: %d scenarios were left out: %s", notBegun, by)}
	}
	counts := fmt.Sprintf("%d interrupted, %d not begun", interrupted, notBegun)
	if signal := unix.SignalNum(by); signal > 0 {
		code = 128 + int(signal)
	} else if by == "" {
		code = Interrupted
	} else {
		return codeError{code, fmt.Errorf("the run ended early, with %s: %s", counts, by)}
	}
	return codeError{code, fmt.Errorf("interrupted by %s: %s", cmp.Or(by, "a signal"), counts)}
}

// FailedBefore is the exit code of a run in which the harness failed.
func FailedBefore() error {
	return codeError{Failed, errors.New("the harness or its environment failed before everything could be judged; see above")}
}

// Besides is the outcome of a command that also had other errors, for example while it wrote the report. A broken promise takes
// precedence over these errors, and these errors over every other outcome.
func Besides(outcome error, failed ...error) error {
	err := errors.Join(failed...)
	switch {
	case err == nil:
		return outcome
	case Code(outcome) == Violated:
		return codeError{Violated, errors.Join(outcome, err)}
	}
	return codeError{Failed, errors.Join(err, outcome)}
}

// Code is the exit code for the error that Command's execution returned.
func Code(err error) int {
	var coded codeError
	var by interrupt.Signal
	switch {
	case err == nil:
		return Held
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &by):
		return 128 + int(by.By)
	default:
		return Failed
	}
}
