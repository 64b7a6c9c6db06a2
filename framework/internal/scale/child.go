package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// harness is the program that is measured.
const harness = "bin/holdfast"

// used is what a process took.
type used struct {
	wall, cpu time.Duration
	memory    int64 // the most that was resident, in bytes; 0: not known
}

// endLimit bounds how long the harness may take to undo what it did, after an interrupt.
const endLimit = 20 * time.Minute

// child runs the harness and waits for it. What it prints goes to standard error. If ctx ends, the harness is interrupted, as by Ctrl-C.
func child(ctx context.Context, args ...string) (used, error) {
	cmd := exec.CommandContext(ctx, harness, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = endLimit
	return process(ctx, cmd)
}

// process runs a command and waits for it.
//
// Linux counts this process's resident memory at the fork as part of the child's peak. A smaller peak of the child is therefore read while the
// child runs.
func process(ctx context.Context, cmd *exec.Cmd) (u used, err error) {
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s %s: %w", cmd.Path, cmd.Args[1], err)
		}
	}()
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return u, err
	}
	ended, peak := make(chan struct{}), make(chan int64)
	go func() { peak <- watchPeak(cmd.Process.Pid, ended) }()
	err = cmd.Wait()
	close(ended)
	u.wall, u.cpu, u.memory = time.Since(began), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), <-peak
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return u, err
	}
	if r, is := cmd.ProcessState.SysUsage().(*syscall.Rusage); is && (r.Maxrss > own.Maxrss || runtime.GOOS == "darwin") {
		u.memory = mostResident(r)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return u, err
}

// mostResident is the most that was resident in a process, in bytes. macOS counts it in bytes, and Linux in KiB.
//
// Source: https://man7.org/linux/man-pages/man2/getrusage.2.html and macOS' getrusage(2)
func mostResident(r *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" {
		return r.Maxrss
	}
	return r.Maxrss << 10
}

// peakEvery is how often the peak of a process is read. What it adds in its last moment is not seen.
const peakEvery = 5 * time.Millisecond

// watchPeak is the most that was resident in a process, in bytes, as far as it was seen until the process ended.
func watchPeak(pid int, ended <-chan struct{}) (bytes int64) {
	again := time.NewTicker(peakEvery)
	defer again.Stop()
	for {
		select {
		case <-ended:
			return bytes
		case <-again.C:
			bytes = max(bytes, peakOf(pid))
		}
	}
}

// peakOf is the most that was resident in a process, in bytes; 0: it has ended.
//
// Source: VmHWM in https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
func peakOf(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// outcomes are the exit codes of the harness that are verdicts, besides 0.
var outcomes = map[int]string{1: "violated", 5: "unknown"}

// outcomeOf is the verdict that an error of a child stands for, or else the error.
func outcomeOf(err error) (string, error) {
	if err == nil {
		return "held", nil
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if outcome, is := outcomes[exit.ExitCode()]; is {
			return outcome, nil
		}
	}
	return "", err
}

// sizeOf is the size of all files in a folder, in bytes.
func sizeOf(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}
