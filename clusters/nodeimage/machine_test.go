package nodeimage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// machine is a host with given files and programs. It answers a command with the answer whose key is the longest prefix of
// the command line, and records the commands.
type machine struct {
	t       *testing.T
	files   map[string]string
	answers map[string]answer
	missing []string // programs
	uid     int
	system  string

	noHoldfast error // there is no holdfast executable for this reason

	mu    sync.Mutex
	asked []string
	calls []call
}

type answer struct {
	text string
	err  error
	then func(ctx context.Context, c call) error // happens before the answer is given
}

func newMachine(t *testing.T) *machine {
	return &machine{t: t, system: "linux", files: map[string]string{}, answers: map[string]answer{"go env GOVERSION": {text: "go1.26.8\n"}}}
}

func (m *machine) host() host {
	return host{
		run: m.run,
		lookPath: func(program string) (string, error) {
			if slices.Contains(m.missing, program) {
				return "", exec.ErrNotFound
			}
			return "/usr/bin/" + program, nil
		},
		readFile: func(path string) ([]byte, error) {
			if text, ok := m.files[path]; ok {
				return []byte(text), nil
			}
			return nil, os.ErrNotExist
		},
		start: func(context.Context, string, string, string) (func() error, error) {
			return func() error { return nil }, nil
		},
		uid:      m.uid,
		system:   m.system,
		holdfast: func(context.Context, string) (string, error) { return holdfastProgram(m.t), m.noHoldfast },
	}
}

// holdfastProgram is the path of a file that takes the place of holdfast's executable.
func holdfastProgram(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "built")
	if err := os.WriteFile(path, []byte("the program holdfast"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func (m *machine) golang(t *testing.T) goTool {
	t.Helper()
	g, err := newGoTool(t.Context(), m.host(), "")
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (m *machine) run(ctx context.Context, c call) ([]byte, error) {
	line := strings.Join(append([]string{filepath.Base(c.name)}, c.args...), " ")
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // as os/exec does: the program is not started
	}
	best, found := "", false
	m.mu.Lock()
	m.asked, m.calls = append(m.asked, line), append(m.calls, c)
	for key := range m.answers {
		if strings.HasPrefix(line, key) && len(key) >= len(best) {
			best, found = key, true
		}
	}
	given := m.answers[best]
	m.mu.Unlock()
	if !found {
		return nil, fmt.Errorf("unexpected command: %s", line)
	}
	if given.then != nil {
		if err := given.then(ctx, c); err != nil {
			return nil, err
		}
	}
	return []byte(given.text), given.err
}

// count is the number of commands that start with start.
func (m *machine) count(start string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, line := range m.asked {
		if strings.HasPrefix(line, start) {
			n++
		}
	}
	return n
}

// fakeEngine is a container engine that is a map of images. Its commands are shell scripts.
type fakeEngine struct {
	held    map[string]string // output of inspect, by reference
	scripts map[string]string // by verb: "pull", "load"; $1 is the image
	after   func(verb, image string)
	arch    string // of its machine
	asked   []string
}

func (e *fakeEngine) Name() string { return "fake" }

func (e *fakeEngine) Command(ctx context.Context, args ...string) *exec.Cmd {
	e.asked = append(e.asked, strings.Join(args, " "))
	script, ok := e.scripts[args[0]]
	if !ok {
		script = "echo unexpected " + args[0] + " >&2; exit 1"
	}
	if e.after != nil {
		e.after(args[0], args[len(args)-1])
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", script, "sh", args[len(args)-1])
	cmd.WaitDelay = 100 * time.Millisecond // a child of the shell may outlive it and hold its output open
	return cmd
}

func (e *fakeEngine) Output(ctx context.Context, args ...string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	e.asked = append(e.asked, strings.Join(args, " "))
	switch strings.Join(args[:2], " ") {
	case "info --format":
		return []byte(e.arch + "\n"), nil
	case "image inspect":
		var out bytes.Buffer
		for i, name := range args[2:] {
			text, ok := e.held[name]
			if !ok {
				return nil, fmt.Errorf("%s: no such image", name)
			}
			_, _ = io.WriteString(&out, map[bool]string{true: "[", false: ","}[i == 0]+text)
		}
		return append(out.Bytes(), ']'), nil
	case "image ls":
		var out bytes.Buffer
		for name := range e.held {
			fmt.Fprintln(&out, name)
		}
		fmt.Fprintln(&out, "localhost/holdfast/node:<none>\nlocalhost/other:1\nlocalhost:5000/nothing")
		return out.Bytes(), nil
	}
	if args[0] == "tag" {
		return nil, nil
	}
	return nil, fmt.Errorf("unexpected %q", args)
}

// inFolder are the names of the files in a folder.
func inFolder(t *testing.T, dir string) []string {
	t.Helper()
	names, err := fs.Glob(os.DirFS(dir), "*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}
