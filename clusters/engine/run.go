package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// shownCommand is how many characters of a command an error shows. A node's `run` has some forty arguments.
const shownCommand = 160

// shownWords is how many characters of what a command said an error shows. Podman has printed a Go structure of 12,000.
const shownWords = 500

// output runs cmd, which was made with ctx, and returns its standard output.
func output(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		return stdout.Bytes(), nil
	}
	if ctx.Err() != nil { // the exit status of a command that we ended ourselves says nothing
		err = context.Cause(ctx)
	}
	return stdout.Bytes(), &failure{command: shown(cmd.Args), cause: err, said: short(lastLine(stderr.String()), shownWords)}
}

// failure of a command.
type failure struct {
	command string
	cause   error
	said    string // the last line of its standard error, may be empty
}

func (f *failure) Error() string {
	text := fmt.Sprintf("run %s: %v", f.command, f.cause)
	if f.said != "" {
		text += ": " + f.said
	}
	return text
}

func (f *failure) Unwrap() error { return f.cause }

// why a command failed, in its own words where it had any: what the command was interests nobody who looks for an
// engine.
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

// shown is a command as an error names it.
func shown(args []string) string {
	return short(strings.Join(append([]string{filepath.Base(args[0])}, args[1:]...), " "), shownCommand)
}

// short cuts a text after so many characters, between two of them.
func short(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}

// lastLine is the last line that tells why a command failed. Docker and podman log warnings, some of them on every call,
// and after the error what followed from it; such a line is given only where there is nothing else. Of apt's last
// errors it is the first: what comes after sums up.
func lastLine(stderr string) string {
	var logged string
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		switch {
		case line == "" || strings.Contains(line, " --help'"): // docker's pointer to its help
		case strings.HasPrefix(line, "time=") && strings.Contains(line, " level="):
			if logged == "" {
				logged = line
			}
		case strings.HasPrefix(line, "E: ") && i > 0 && strings.HasPrefix(lines[i-1], "E: "):
		default:
			return line
		}
	}
	return logged
}
