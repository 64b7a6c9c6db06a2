package nodeimage

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func descheduler() Command {
	const path = "sigs.k8s.io/descheduler"
	return Command{
		Name: "descheduler", Module: path, Version: "v0.36.0", Package: path + "/cmd/descheduler",
		LDFlags: "-X " + path + "/pkg/version.version=v0.36.0",
	}
}

func compileMachine(t *testing.T) *machine {
	m := newMachine(t)
	m.files["/m/go.mod"] = "module sigs.k8s.io/descheduler\n\ngo 1.26\n\nreplace k8s.io/kube-openapi => k8s.io/kube-openapi v0.0.1\n"
	m.answers["go mod download -json sigs.k8s.io/descheduler@v0.36.0"] = answer{text: `{"Dir":"/m","GoMod":"/m/go.mod"}`}
	m.answers["go build"] = answer{then: compiles}
	return m
}

func TestCompile(t *testing.T) {
	var told []State
	m, o := compileMachine(t), Options{CacheDir: t.TempDir(), Progress: func(s Step) { told = append(told, s.State) }}
	path, err := compile(t.Context(), m.host(), "linux", descheduler(), o)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "the program descheduler" {
		t.Errorf("%s holds %q, %v", path, text, err)
	}
	for _, c := range m.calls {
		if line := strings.Join(c.args, " "); strings.HasPrefix(line, "build ") {
			if !strings.Contains(line, "-X sigs.k8s.io/descheduler/pkg/version.version=v0.36.0") || !strings.Contains(strings.Join(c.env, " "), "CGO_ENABLED=0") {
				t.Errorf("go %s with %q: want its version stamped in, and a static program", line, c.env)
			}
		}
	}

	again, err := compile(t.Context(), m.host(), "linux", descheduler(), o)
	if err != nil || again != path || m.count("go build") != 1 {
		t.Errorf("a second time: %s, %v, %d builds; want what the cache holds", again, err, m.count("go build"))
	}
	other := descheduler()
	other.LDFlags = ""
	if again, err := compile(t.Context(), m.host(), "linux", other, o); err != nil || again == path {
		t.Errorf("with other flags: %s, %v; want another program", again, err)
	}
	if diff := cmp.Diff([]State{Started, Done, Started, Cached, Started, Done}, told); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if left := unfinished(t, o.CacheDir); left != nil {
		t.Errorf("left behind: %q", left)
	}
}

// A program for this machine is not the one for the nodes of another system.
func TestCompileForASystem(t *testing.T) {
	m, o := compileMachine(t), Options{CacheDir: t.TempDir(), Progress: func(Step) {}}
	paths := map[string]bool{}
	for _, system := range []string{"linux", "darwin"} {
		path, err := compile(t.Context(), m.host(), system, descheduler(), o)
		if err != nil {
			t.Fatal(err)
		}
		paths[path] = true
		built := m.calls[len(m.calls)-1]
		if line, env := strings.Join(built.args, " "), strings.Join(built.env, " "); !strings.HasPrefix(line, "build ") || !strings.Contains(env, "GOOS="+system+" ") {
			t.Errorf("%s: go %s with %s", system, line, env)
		}
	}
	if len(paths) != 2 {
		t.Errorf("both systems have the program %v", paths)
	}
}

// TestCompileThatFails: a failed compilation leaves no cache entry.
func TestCompileThatFails(t *testing.T) {
	o := Options{CacheDir: t.TempDir(), Progress: func(Step) {}}
	m := compileMachine(t)
	m.answers["go build"] = answer{err: errors.New("a compiler's error")}
	_, err := compile(t.Context(), m.host(), "linux", descheduler(), o)
	if err == nil || !strings.HasPrefix(err.Error(), "descheduler v0.36.0: a compiler's error\nthe whole log is in ") {
		t.Errorf("got %v", err)
	}
	if found, _ := filepath.Glob(filepath.Join(o.CacheDir, "descheduler-*")); found != nil || unfinished(t, o.CacheDir) != nil {
		t.Errorf("left behind: %q %q", found, unfinished(t, o.CacheDir))
	}
	m.missing = []string{"go"}
	if _, err := compile(t.Context(), m.host(), "linux", descheduler(), o); !errors.Is(err, errNoGo) {
		t.Errorf("without Go: %v", err)
	}
}
