package nodeimage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/output"
	"github.com/holdfast-ha/holdfast/framework/base/process"
	"github.com/holdfast-ha/holdfast/framework/base/self"
)

// call is a program to run, other than the engine.
type call struct {
	dir   string
	env   []string // added to this process's own
	name  string
	args  []string
	stdin io.Reader
	log   *os.File // gets a copy of what the program prints; may be nil
	// ownMounts runs the program in a mount namespace of its own, so that its mounts end with it.
	ownMounts bool
}

// host is the machine that a build runs on. Tests replace it.
type host struct {
	run      func(ctx context.Context, c call) ([]byte, error) // returns standard output
	lookPath func(program string) (string, error)
	readFile func(path string) ([]byte, error)
	start    func(ctx context.Context, program, config, socket string) (stop func() error, err error) // a containerd
	uid      int
	system   string // runtime.GOOS
	// holdfast is the path of the holdfast executable that runs on nodes; it may be compiled into cacheDir.
	holdfast func(ctx context.Context, cacheDir string) (string, error)
}

func thisHost() host {
	return host{run: run, lookPath: lookPath, readFile: os.ReadFile, start: startContainerd, uid: os.Geteuid(), system: runtime.GOOS, holdfast: self.Path}
}

// lookPath also searches the sbin directories: the PATH of users, and of some root shells, does not contain them.
func lookPath(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path, nil
		}
	}
	return "", err
}

// run kills the whole process group when ctx ends: go and mmdebstrap start many programs.
func run(ctx context.Context, c call) ([]byte, error) {
	cmd := exec.CommandContext(ctx, c.name, c.args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stdin = c.stdin
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if c.log != nil {
		cmd.Stdout, cmd.Stderr = io.MultiWriter(&stdout, c.log), io.MultiWriter(&stderr, c.log)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process.EndWithParent(cmd.SysProcAttr, syscall.SIGKILL)
	if c.ownMounts {
		if err := process.OwnMounts(cmd.SysProcAttr); err != nil {
			return nil, &failure{command: filepath.Base(c.name), cause: err}
		}
	}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return stdout.Bytes(), &failure{command: filepath.Base(c.name) + " " + strings.Join(c.args, " "), cause: err, said: output.Tail(stderr.String())}
	}
	return stdout.Bytes(), nil
}

// do is run for programs whose output does not matter.
func (h host) do(ctx context.Context, program string, args ...string) error {
	_, err := h.run(ctx, call{name: program, args: args})
	return err
}

type failure struct {
	command string
	cause   error
	said    string // the end of its standard error; may be empty
}

const shownCommand = 120 // characters

func (f *failure) Error() string {
	command := f.command
	if len(command) > shownCommand {
		command = command[:shownCommand] + "..."
	}
	text := fmt.Sprintf("run %s: %v", command, f.cause)
	if f.said != "" {
		text += ":\n" + f.said
	}
	return text
}

func (f *failure) Unwrap() error { return f.cause }

// saveNode is the option of 'holdfast image save' for the node image of a version of Kubernetes.
func saveNode(version string) string { return "--kubernetes " + version }

// checkBuilds refuses to build on a system that has no mount namespaces and none of Debian's tools. saved is the option of 'holdfast image save' for the
// image, and pull is why no registry sent it; nil: none was asked.
func (h host) checkBuilds(ctx context.Context, e Asker, saved string, pull error) error {
	if h.system == "linux" {
		return nil
	}
	arch, err := architecture(ctx, e)
	if err != nil {
		arch = runtime.GOARCH // usually that of the engine's virtual machine too
	}
	unsent := ""
	if pull != nil {
		unsent = ", and no registry sent it: " + strings.ReplaceAll(pull.Error(), "\n", "; ")
	}
	return fmt.Errorf("the image is built only on Linux, and this is %s%s: let the container engine reach a registry that has it, or run 'holdfast image load FILE' "+
		"with a file that 'holdfast image save FILE %s' wrote on a Linux machine of the same architecture (linux/%s)", h.system, unsent, saved, arch)
}
