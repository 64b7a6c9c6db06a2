package gomodule_test

import (
	"archive/zip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/workloads/image/gomodule"
)

// proxy is a module proxy in a folder, with module example.com/tool at v1.0.0. Its own go.mod replaces a module that nobody has by a folder
// that the module lacks.
func proxy(t *testing.T) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "example.com", "tool", "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	const mod = "module example.com/tool\n\ngo 1.26\n\nrequire example.com/part v0.0.0\n\nreplace example.com/part => ./part\n"
	files := map[string]string{
		"go.mod":           mod,
		"cmd/tool/main.go": "package main\n\nimport \"example.com/part\"\n\nfunc main() { println(part.Text) }\n",
		"crd/one.yaml":     "kind: One\n",
	}
	archive, err := os.Create(filepath.Join(dir, "v1.0.0.zip"))
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(archive)
	for name, text := range files {
		f, err := w.Create("example.com/tool@v1.0.0/" + name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"v1.0.0.mod": mod, "v1.0.0.info": `{"Version":"v1.0.0"}`, "list": "v1.0.0\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cache := t.TempDir()
	t.Cleanup(func() { // its folders are read-only
		_ = filepath.WalkDir(cache, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				_ = os.Chmod(path, 0o700) //nolint:gosec // a folder
			}
			return nil
		})
	})
	t.Setenv("GOPROXY", "file://"+filepath.Dir(filepath.Dir(filepath.Dir(dir))))
	t.Setenv("GONOSUMDB", "*")
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOMODCACHE", cache)
}

var tool = gomodule.Module{Path: "example.com/tool", Version: "v1.0.0"}

// The module's own replace directive holds, and what it lacks is added.
func TestBuildsAModuleAsItsOwnMainModule(t *testing.T) {
	proxy(t)
	p := gomodule.Program{Module: tool, Package: "./cmd/tool", Files: map[string]string{
		"part/go.mod": "module example.com/part\n\ngo 1.26\n", "part/part.go": "package part\n\nconst Text = \"hello\"\n",
	}}
	into := t.TempDir()
	path, err := p.Build(t.Context(), t.TempDir(), into)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); path != filepath.Join(into, "tool") || err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("%s: %v, %v", path, info, err)
	}
	p.Files = nil
	if _, err := p.Build(t.Context(), t.TempDir(), into); err == nil || !strings.Contains(err.Error(), "compile ./cmd/tool of example.com/tool@v1.0.0") {
		t.Errorf("without the folder that it is replaced by: %v", err)
	}
}

func TestAModuleThatNobodyHas(t *testing.T) {
	proxy(t)
	for name, m := range map[string]gomodule.Module{
		"no such version": {Path: tool.Path, Version: "v2.0.0"}, "no such module": {Path: "example.com/none", Version: "v1.0.0"},
	} {
		if _, err := m.Download(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "download "+m.String()+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProgramsThatMakeNoSense(t *testing.T) {
	for want, p := range map[string]gomodule.Program{
		"want the path and the version of a Go module": {Package: "."},
		"want a path in the module, such as":           {Module: tool, Package: "example.com/tool/cmd"},
		`file "../x"`:                                  {Module: tool, Package: ".", Files: map[string]string{"../x": ""}},
		`file "/etc"`:                                  {Module: tool, Package: ".", Files: map[string]string{"/etc": ""}},
	} {
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// asks writes a file that asks for copies.
func asks(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "api.copies.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// What an earlier version had is gone.
func TestCopiesFilesOfAModule(t *testing.T) {
	proxy(t)
	file := asks(t, "module: example.com/tool\nversion: v1.0.0\ninto: crds\nfiles: [crd/one.yaml]\n")
	folder := filepath.Join(filepath.Dir(file), "crds")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "old.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := gomodule.ReadCopies(file)
	if err == nil {
		err = c.Make(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = string(text)
	}
	if diff := cmp.Diff(map[string]string{"one.yaml": "kind: One\n"}, got); diff != "" {
		t.Errorf("copies (-want +got):\n%s", diff)
	}
	c.Files = []string{"crd/two.yaml"}
	if err := c.Make(t.Context()); err == nil || !strings.Contains(err.Error(), "copy from example.com/tool@v1.0.0") {
		t.Errorf("a file that the module lacks: %v", err)
	}
}

// Nothing outside of the folder beside the file is ever removed or written.
func TestCopiesThatMakeNoSense(t *testing.T) {
	const rest = "module: m\nversion: v1\n"
	for name, text := range map[string]string{
		"no folder": rest + "files: [a]\n", "this folder": rest + "files: [a]\ninto: .\n", "one above": rest + "files: [a]\ninto: ../x\n",
		"this folder in other words": rest + "files: [a]\ninto: x/..\n", "an absolute one": rest + "files: [a]\ninto: /etc\n", "no files": rest + "into: crds\n",
		"a file of another module": rest + "into: crds\nfiles: [../a]\n", "a typo": rest + "into: crds\nfile: [a]\n", "no module": "version: v1\nfiles: [a]\ninto: crds\n",
	} {
		if c, err := gomodule.ReadCopies(asks(t, text)); err == nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// The copies that the applications in suites/apps ask for can be read.
func TestTheCopiesOfTheApplicationsAreRead(t *testing.T) {
	files, err := filepath.Glob("../../../suites/apps/*/*.copies.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		if _, err := gomodule.ReadCopies(file); err != nil {
			t.Error(err)
		}
	}
}
