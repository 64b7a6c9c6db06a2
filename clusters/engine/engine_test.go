package engine

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestApply(t *testing.T) {
	t.Setenv("HOLDFAST_TEST", "before")
	e := &Engine{name: Podman, env: []string{"HOLDFAST_TEST=a=b"}}
	if err := e.Apply(); err != nil {
		t.Fatal(err)
	}
	if got := os.Getenv("HOLDFAST_TEST"); got != "a=b" {
		t.Errorf("HOLDFAST_TEST=%q, want a=b", got)
	}
	if err := (&Engine{env: []string{"=x"}}).Apply(); err == nil {
		t.Error("set a variable without a name")
	}
}

func TestEnvironIsACopy(t *testing.T) {
	e := &Engine{env: []string{"A=1"}}
	e.Environ()[0] = "B=2"
	if diff := cmp.Diff([]string{"A=1"}, e.Environ()); diff != "" {
		t.Error(diff)
	}
}

func TestCacheDir(t *testing.T) {
	t.Setenv("HOLDFAST_CACHE", "/some/where")
	if got, err := CacheDir(); err != nil || got != "/some/where" {
		t.Errorf("%q, %v; want the value of HOLDFAST_CACHE", got, err)
	}
	t.Setenv("HOLDFAST_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", "/cache")
	want := "/cache/holdfast"
	if runtime.GOOS == "darwin" {
		t.Setenv("HOME", "/home")
		want = "/home/Library/Caches/holdfast"
	}
	if got, err := CacheDir(); err != nil || got != want {
		t.Errorf("%q, %v; want a folder in the user's cache", got, err)
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	if got, err := CacheDir(); err == nil || !strings.Contains(err.Error(), "set HOLDFAST_CACHE") {
		t.Errorf("%q, %v; want an error that says what to set", got, err)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, content := range []string{"first", "second"} {
		if err := writeFile(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("%q, %v; want %q", got, err, content)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v; want one file", entries, err)
	}
	if err := writeFile(filepath.Join(path, "below"), nil); err == nil {
		t.Error("wrote below a file")
	}
}
