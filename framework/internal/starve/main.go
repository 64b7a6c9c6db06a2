// Starve runs a command while the control groups of the container engines get a share of the machine's processors, as on a CI runner with a quota:
//
//	starve 1/3 bin/holdfast run
//
// It gives the command's exit code. What it limited is as before when it ends, also after Ctrl-C; only SIGKILL leaves the limit behind, and the next
// starve takes it away. Where no control group can be limited, endless loops run beside the command.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == spinning {
		spin()
	}
	code, err := run(os.Args[1:])
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "starve:", err)
		code = max(code, 3) // as holdfast's own exit code of a failed environment
	}
	os.Exit(code)
}

func run(args []string) (code int, err error) {
	var part, of int
	if len(args) < 2 {
		return 0, fmt.Errorf("want a share and a command, such as 1/3 bin/holdfast run, not %q", args)
	}
	if n, err := fmt.Sscanf(args[0], "%d/%d", &part, &of); n != 2 || err != nil || part < 1 || of < part {
		return 0, fmt.Errorf("share %q: want a fraction such as 1/3", args[0])
	}
	// Signals are the command's: it ends when it has undone what it did, and only then is the limit taken away.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	restore, err := limit(cgroups("/sys/fs/cgroup", systemd()), float64(part)/float64(of))
	if errors.Is(err, errNoGroup) {
		restore, err = loops(part, of)
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, restore()) }()
	return child(signals, args[1:])
}

// systemd reports whether it runs, and so manages the control groups of engines by default.
func systemd() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil
}

// child runs a command in a process group of its own, passes signals on to it, and returns its exit code.
func child(signals <-chan os.Signal, args []string) (code int, err error) {
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that Ctrl-C reaches it once, through this process
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", args[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it may have ended meanwhile
		case err := <-ended:
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
				return exit.ExitCode(), nil
			}
			return 0, err
		}
	}
}

// spinning is the argument that makes this program an endless loop.
const spinning = "spin"

// spin uses a processor until the process that started it is gone.
func spin() {
	for parent := os.Getppid(); os.Getppid() == parent; {
		for range 1 << 20 { // using the processor is what it is for
		}
	}
	os.Exit(0)
}

// loops starts so many endless loops that a fair scheduler leaves about the share to as many tasks as there are processors.
func loops(part, of int) (restore func() error, err error) {
	var all []*exec.Cmd
	restore = func() (err error) {
		for _, cmd := range all {
			err = errors.Join(err, cmd.Process.Kill())
			_ = cmd.Wait() // which says that it was killed
		}
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	n := runtime.NumCPU() * (of - part) / part
	fmt.Printf("starve: no control group can be limited; %d endless loops run beside the command\n", n)
	for range n {
		cmd := exec.CommandContext(context.Background(), self, spinning)
		if err := cmd.Start(); err != nil {
			return nil, errors.Join(fmt.Errorf("start an endless loop: %w", err), restore())
		}
		all = append(all, cmd)
	}
	return restore, nil
}
