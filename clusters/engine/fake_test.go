package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fake is a machine with the given programs and files. It answers a command line with the answer that has the longest matching
// prefix, and records each command line.
type fake struct {
	programs []string
	files    map[string]string
	answers  map[string]answer
	uid      int
	asked    []string
	ended    []string // commands during which their context ended

	noProgram error // there is no holdfast executable for this reason
}

type answer struct {
	text string
	err  error
	then func() // called before the answer is returned
}

func (f *fake) host() host {
	return host{
		run: f.run,
		lookPath: func(program string) (string, error) {
			if slices.Contains(f.programs, program) {
				return "/usr/bin/" + program, nil
			}
			return "", exec.ErrNotFound
		},
		readFile: func(path string) ([]byte, error) {
			if text, ok := f.files[path]; ok {
				return []byte(text), nil
			}
			return os.ReadFile(filepath.Join("/nonexistent", path))
		},
		exists: func(path string) bool { _, ok := f.files[path]; return ok },
		program: func(context.Context, string) (string, error) {
			return os.Args[0], f.noProgram
		},
		uid:    f.uid,
		limits: limits{openFiles: 20000, processes: 96365},
		system: "linux",
		arch:   "arm64",
		kernel: "6.8.0",
	}
}

func (f *fake) run(ctx context.Context, c call) ([]byte, error) {
	line := strings.Join(append([]string{filepath.Base(c.path)}, c.args...), " ")
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // like os/exec, which does not start the program then
	}
	f.asked = append(f.asked, line)
	if c.stdin != nil {
		if _, err := io.Copy(io.Discard, c.stdin); err != nil {
			return nil, err
		}
	}
	best, found := "", false
	for key := range f.answers {
		if strings.HasPrefix(line, key) && len(key) >= len(best) {
			best, found = key, true
		}
	}
	if !found {
		return nil, fmt.Errorf("unexpected command: %s", line)
	}
	given := f.answers[best]
	if given.then != nil {
		given.then()
	}
	if ctx.Err() != nil {
		f.ended = append(f.ended, line)
		return nil, context.Cause(ctx)
	}
	return []byte(given.text), given.err
}

// count is the number of recorded commands with this prefix.
func (f *fake) count(start string) int {
	n := 0
	for _, line := range f.asked {
		if strings.HasPrefix(line, start) {
			n++
		}
	}
	return n
}

// exits is a real exec.ExitError with the given status, wrapped as in run.
func exits(t *testing.T, status int, line string) error {
	t.Helper()
	err := exec.Command("sh", "-c", fmt.Sprintf("exit %d", status)).Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("sh: %v, want an exit status", err)
	}
	return &failure{command: "it", cause: err, said: line}
}

const (
	dockerUp   = `{"ID":"XYZ","ServerVersion":"28.2.2","DefaultRuntime":"runc","Driver":"overlay2","DockerRootDir":"/var/lib/docker"}`
	dockerDown = `{"ServerErrors":["Cannot connect to the Docker daemon at unix:///var/run/docker.sock."]}`
	podmanUp   = `{"host":{"ociRuntime":{"name":"runc"}},"store":{"graphDriverName":"overlay","graphRoot":"/var/lib/containers/storage"},"version":{"Version":"4.3.1"}}`
	bookworm   = "PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\n"
)

// works are the answers of an engine that runs privileged containers.
func works(name, info string) map[string]answer {
	return map[string]answer{
		name + " info":   {text: info},
		name + " import": {},
		name + " run":    {},
		name + " rm":     {},
		name + " rmi":    {},
	}
}

func merge(all ...map[string]answer) map[string]answer {
	sum := map[string]answer{}
	for _, one := range all {
		for key, value := range one {
			sum[key] = value
		}
	}
	return sum
}
