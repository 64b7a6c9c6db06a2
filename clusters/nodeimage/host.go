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
	"strings"
	"syscall"
	"time"
)

// call is a program to run, other than the engine.
type call struct {
	dir   string
	env   []string // added to that of this process
	name  string
	args  []string
	stdin io.Reader
	log   *os.File // gets what the program prints, beside what is returned; may be nil
	// mounts that the program makes are its own and end with it, however it ends.
	ownMounts bool
}

// host is the machine as a build sees it. Tests put another in its place.
type host struct {
	run      func(ctx context.Context, c call) ([]byte, error) // its standard output
	lookPath func(program string) (string, error)
	readFile func(path string) ([]byte, error)
	glob     func(pattern string) ([]string, error)
	start    func(ctx context.Context, program, config, socket string) (stop func() error, err error) // a containerd
	uid      int
}

func thisHost() host {
	return host{run: run, lookPath: lookPath, readFile: os.ReadFile, glob: filepath.Glob, start: startContainerd, uid: os.Geteuid()}
}

// lookPath also looks where root's programs are: a user's PATH, and that of some root shells, leaves them out.
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

// run ends the whole process group with ctx: go and debootstrap start many programs.
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL} // also where we are killed
	if c.ownMounts {
		cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
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
		return stdout.Bytes(), &failure{command: filepath.Base(c.name) + " " + strings.Join(c.args, " "), cause: err, said: tail(stderr.String())}
	}
	return stdout.Bytes(), nil
}

// failure of a program.
type failure struct {
	command string
	cause   error
	said    string // the end of its standard error, may be empty
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

// tail is the end of what a program said: compilers give the cause some lines before the last. What it downloaded is
// left out.
func tail(text string) string {
	const shown = 6
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "go: downloading ") {
			lines = append(lines, "  "+line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-shown):], "\n")
}
