// Package self finds the holdfast executable that runs in containers: as the probe of an engine, on nodes, and in pods.
//
// It does not copy the executable into a container.
package self

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
)

// command is the package of the holdfast command.
const command = "github.com/holdfast-ha/holdfast"

// Variable names an executable to use instead of the one that Path finds.
const Variable = "HOLDFAST_EXECUTABLE"

// Path is the path of a static holdfast executable for Linux: that of this process if this process is holdfast on Linux. On another system
// Variable must name one. A test, or another program that uses holdfast's packages, cannot take the place of holdfast in a container. For such a program
// Path compiles holdfast with the Go toolchain, in the module of the working directory, and keeps it in dir.
func Path(ctx context.Context, dir string) (string, error) {
	path, err := find(ctx, dir)
	if err != nil {
		return "", fmt.Errorf("find the holdfast executable for containers: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("find the holdfast executable for containers: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	if err := Check(file, runtime.GOARCH); err != nil {
		return "", fmt.Errorf("use %s in containers: %w", path, err)
	}
	return path, nil
}

func find(ctx context.Context, dir string) (string, error) {
	if path := os.Getenv(Variable); path != "" {
		return filepath.Abs(path)
	}
	running := Running()
	switch {
	case running == "":
		return compile(ctx, dir)
	case runtime.GOOS == "linux":
		return running, nil
	}
	return "", fmt.Errorf("containers run on Linux, and %s does not: set %s to the executable of the same release for linux/%s", running, Variable, runtime.GOARCH)
}

// Running is the path of this process's executable, if this process is holdfast; otherwise it is empty.
func Running() string {
	about, ok := debug.ReadBuildInfo()
	if !ok || about.Path != command {
		return ""
	}
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}

func compile(ctx context.Context, dir string) (string, error) {
	path, err := filepath.Abs(filepath.Join(dir, "compiled", "holdfast"))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, command)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	said, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return path, nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	}
	return "", fmt.Errorf("compile it, because this program is not holdfast: %w: %s; or set %s to a holdfast executable",
		err, strings.TrimSpace(string(said)), Variable)
}

// machines are the ELF machine types of supported architectures.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// Check rejects programs that cannot run alone in a container: those for an architecture other than arch, and those that need a
// dynamic linker.
func Check(program io.ReaderAt, arch string) error {
	file, err := elf.NewFile(program)
	if err != nil {
		return fmt.Errorf("not a Linux executable: %w", err)
	}
	if want, known := machines[arch]; known && file.Machine != want {
		return fmt.Errorf("built for %s, but the nodes are %s", file.Machine, want)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("linked dynamically (cgo), but the image has no libraries: use 'make build' (CGO_ENABLED=0)")
		}
	}
	return nil
}

// CommandLine is how this process was started. It is recorded in everything that the process creates, so that messages can name it.
func CommandLine() string { return prose.Shorten("holdfast "+strings.Join(os.Args[1:], " "), 100) }
