package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// shownCommand limits the bytes of a command in an error. `run` of a node has some forty arguments.
const shownCommand = 160

// shownWords limits the bytes of a command's output in an error. Podman has printed a Go structure of 12,000 characters.
const shownWords = 500

// output runs cmd, which was created with ctx, and returns its standard output.
func output(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		return stdout.Bytes(), nil
	}
	if ctx.Err() != nil { // the exit status is meaningless if ctx ended the command
		err = context.Cause(ctx)
	}
	return stdout.Bytes(), &failure{command: shown(cmd.Args), cause: err, said: short(lastLine(stderr.String()), shownWords)}
}

// failure is the error of a command.
type failure struct {
	command string
	cause   error
	said    string // the most relevant line of standard error, may be empty
}

func (f *failure) Error() string {
	text := fmt.Sprintf("run %s: %v", f.command, f.cause)
	if f.said != "" {
		text += ": " + f.said
	}
	return text
}

func (f *failure) Unwrap() error { return f.cause }

// why is the cause of a failed command without the command line, which does not help a user who needs an engine: the line from
// standard error if there is one, otherwise the wrapped error.
func why(err error) error {
	var f *failure
	switch {
	case !errors.As(err, &f):
		return err
	case f.said != "":
		return errors.New(f.said)
	}
	return f.cause
}

// shown shortens a command for an error.
func shown(args []string) string {
	return short(strings.Join(append([]string{filepath.Base(args[0])}, args[1:]...), " "), shownCommand)
}

// short truncates a text to limit bytes, without splitting a character.
func short(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}

// lastLine is the last line that explains why a command failed. It ignores the help hint, and returns a log line only if there
// is no other line: docker and podman log warnings, and after the error its consequences. Of consecutive errors of apt it
// returns the first, because the others are summaries.
func lastLine(stderr string) string {
	var logged string
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		switch {
		case line == "" || strings.Contains(line, " --help'"): // docker's pointer to its help
		case strings.HasPrefix(line, "time=") && strings.Contains(line, " level="):
			logged = cmp.Or(logged, line)
		case strings.HasPrefix(line, "E: ") && i > 0 && strings.HasPrefix(lines[i-1], "E: "):
		default:
			return line
		}
	}
	return logged
}
