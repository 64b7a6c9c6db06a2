// Package process identifies a process so that another process can check later whether it is still alive, and ties a child to its parent.
//
// The package does not end processes.
package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Process identifies one process on one machine. A PID alone is not enough: PIDs are reused, and each container has its own
// PIDs.
type Process struct {
	Host string `json:"host"`
	// Machine is the boot ID of the kernel and the PID namespace. Empty if /proc does not provide them.
	Machine string `json:"machine,omitempty"`
	PID     int    `json:"pid"`
	// Began is the start time of the process in clock ticks since boot. Empty if /proc does not provide it.
	Began string `json:"began,omitempty"`
}

// Life is whether a process is alive, as far as this process can tell.
type Life string

// The values of Life. Elsewhere means that the process belongs to another machine, so its state is unknown here.
const (
	Lives     Life = "lives"
	Ended     Life = "ended"
	Elsewhere Life = "elsewhere"
)

// Self identifies the calling process.
func Self() Process {
	host, _ := os.Hostname() // without a host name the other fields still identify the process
	p := Process{Host: host, Machine: machine(), PID: os.Getpid()}
	p.Began, _ = began(p.PID)
	return p
}

// Life reports whether the process is still alive. A zombie has ended.
func (p Process) Life() Life {
	self, _ := os.Hostname()
	if p.PID <= 0 || p.Host != self || p.Machine != machine() {
		return Elsewhere
	}
	if p.Began != "" {
		switch at, err := began(p.PID); {
		case errors.Is(err, os.ErrNotExist), err == nil && at != p.Began:
			return Ended
		case err == nil:
			return Lives
		}
	}
	if err := syscall.Kill(p.PID, 0); errors.Is(err, syscall.ESRCH) {
		return Ended
	}
	return Lives
}

func (p Process) String() string { return fmt.Sprintf("process %d on %s", p.PID, p.Host) }

// machine is empty if /proc is not available. Then only the host name identifies the machine.
func machine() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(boot)) + space
}

// Indexes of the fields in /proc/PID/stat after the process name. The name is in parentheses and may contain any character.
// Source: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
const (
	fieldState = 0
	fieldBegan = 19
)

// began is the start time of a process. The error is os.ErrNotExist if the process has ended.
func began(pid int) (string, error) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if errors.Is(err, syscall.ESRCH) { // the process ended between open and read
		return "", os.ErrNotExist
	}
	if err != nil {
		if _, noProc := os.Stat("/proc/self/stat"); noProc != nil {
			return "", errors.New("there is no /proc")
		}
		return "", err
	}
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	if len(fields) <= fieldBegan {
		return "", fmt.Errorf("read /proc/%d/stat: %d fields after the name", pid, len(fields))
	}
	if state := fields[fieldState]; state == "Z" || state == "X" {
		return "", os.ErrNotExist
	}
	return fields[fieldBegan], nil
}
