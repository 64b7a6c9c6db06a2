// Package gomodule takes programs and files from Go modules: of applications that nobody here wrote, for tests on a machine that reaches
// no container registry, and no place where they are released either.
//
// It needs the Go toolchain. No go.mod of this repository depends on what it takes.
package gomodule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Module is a Go module at one version.
type Module struct {
	Path    string `json:"module"`  // "github.com/traefik/traefik/v3"
	Version string `json:"version"` // "v3.7.13"
}

func (m Module) String() string { return m.Path + "@" + m.Version }

// Program is a command of a module.
type Program struct {
	Module
	Package string `json:"package"` // relative to the module: "./cmd/traefik"
	// Files are added to the module, by their path: what its repository has or makes, and its module lacks, such as a nested module that
	// only a replace directive names.
	Files map[string]string `json:"files,omitempty"`
}

// Validate returns an error if something is missing.
func (p Program) Validate() error {
	switch {
	case p.Path == "" || p.Version == "":
		return errors.New("want the path and the version of a Go module")
	case !strings.HasPrefix(p.Package, "./") && p.Package != ".":
		return fmt.Errorf("package %q of %s: want a path in the module, such as ./cmd/server", p.Package, p.Module)
	}
	for path := range p.Files {
		if !filepath.IsLocal(path) {
			return fmt.Errorf("file %q of %s: want a path in the module", path, p.Module)
		}
	}
	return nil
}

// Build compiles a program, which links with nothing, into a folder, and returns its path. Its module is copied below work and built there
// as the main module: so its own replace, exclude and godebug directives hold, which do not count for anybody who requires the module.
func (p Program) Build(ctx context.Context, work, into string) (path string, err error) {
	if err := p.Validate(); err != nil {
		return "", err
	}
	source := filepath.Join(work, "source")
	if err := p.copyTo(ctx, source); err != nil {
		return "", fmt.Errorf("copy %s: %w", p.Module, err)
	}
	name := filepath.Base(p.Package)
	if name == "." {
		name = filepath.Base(p.Path)
	}
	into, err = filepath.Abs(into)
	if err != nil {
		return "", err
	}
	path = filepath.Join(into, name)
	if _, err := command(ctx, source, "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, p.Package); err != nil {
		return "", fmt.Errorf("compile %s of %s: %w", p.Package, p.Module, err)
	}
	return path, nil
}

// copyTo copies the module with the program's own files into a new folder, in which everything can be written.
func (p Program) copyTo(ctx context.Context, folder string) error {
	from, err := p.Download(ctx)
	if err != nil {
		return err
	}
	err = filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(folder, inside), 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(folder, inside), text, 0o644)
	})
	if err != nil {
		return err
	}
	for path, text := range p.Files {
		file := filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Download fetches a module, unless the module cache has it, and returns its folder there, which is read-only.
func (m Module) Download(ctx context.Context) (folder string, err error) {
	outside, err := os.MkdirTemp("", "gomodule-*") // of any module
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(outside)) }()
	out, err := command(ctx, outside, "mod", "download", "-json", m.String())
	var found struct{ Dir, Error string }
	if json.Unmarshal(out, &found) == nil && found.Error != "" { // it says why on its standard output
		return "", fmt.Errorf("download %s: %s", m, found.Error)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("download %s: %w", m, err)
	case found.Dir == "":
		return "", fmt.Errorf("download %s: the go command named no folder", m)
	}
	return found.Dir, nil
}

// command runs the go command, and returns what it wrote to its standard output.
func command(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GO111MODULE=on", "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}
