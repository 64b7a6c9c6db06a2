package doctor

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// tryLimit bounds a program that only makes system calls.
const tryLimit = 10 * time.Second

// errNotTried is wrapped by an error if the kernel was not asked at all.
var errNotTried = errors.New("not tried")

// isolated runs a program as root in its own network namespace. If the kernel refuses, the error contains the first line that
// the program printed. If the program could not be run, the error wraps errNotTried.
func isolated(ctx context.Context, stdin string, command ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, tryLimit, fmt.Errorf("not finished within %s", tryLimit))
	defer cancel()
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("%w: %s: %w", errNotTried, command[0], err)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin = strings.NewReader(stdin)
	var err error
	if cmd.SysProcAttr, err = ownNetwork(); err != nil {
		return fmt.Errorf("%w: %s: %w", errNotTried, command[0], err)
	}
	said, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %s: %w", errNotTried, command[0], context.Cause(ctx))
	case !errors.As(err, &exit):
		return fmt.Errorf("%w: %w", errNotTried, err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	return fmt.Errorf("%s: %s", command[0], strings.TrimPrefix(line, "Error: "))
}
