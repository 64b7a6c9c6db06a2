package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
)

// Command is a command of a Go module at one version.
type Command struct {
	Name    string // file name of the program; the last element of Package
	Module  string // for example "sigs.k8s.io/descheduler"
	Version string // for example "v0.36.0"
	Package string // for example "sigs.k8s.io/descheduler/cmd/descheduler"
	LDFlags string // in addition to the default flags
}

// Compile returns the path of a static program that runs on a node. It builds the program in a throw-away module, like the
// programs of a node image, so that no go.mod depends on it; the replacements in the module's own go.mod apply. The result
// is cached by all its inputs. Compile waits for a concurrent build to finish. The first call takes minutes.
func Compile(ctx context.Context, c Command, o Options) (path string, err error) {
	return compileFor(ctx, "linux", c, o)
}

// CompileHere is Compile for a program that runs on this machine, which may have another system than the nodes.
func CompileHere(ctx context.Context, c Command, o Options) (path string, err error) {
	return compileFor(ctx, runtime.GOOS, c, o)
}

func compileFor(ctx context.Context, system string, c Command, o Options) (path string, err error) {
	if err := o.fill(); err != nil {
		return "", err
	}
	path, err = compile(ctx, thisHost(), system, c, o)
	if err != nil {
		return "", fmt.Errorf("compile %s %s: %w", c.Name, c.Version, err)
	}
	return path, nil
}

func compile(ctx context.Context, h host, system string, c Command, o Options) (path string, err error) {
	b, work, end, err := h.begin(ctx, o, 1)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, end()) }()
	if b.golang, err = newGoTool(ctx, h, work); err != nil {
		return "", err
	}
	var dir string
	one := program{name: c.Name, module: c.Module, version: c.Version, system: system, commands: []string{c.Package}, ldflags: c.LDFlags}
	if err := b.program(ctx, one, &dir); err != nil {
		return "", err
	}
	return filepath.Join(dir, c.Name), nil
}
