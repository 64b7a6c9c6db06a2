// Package process names a process so that another one can tell later whether it still lives.
//
// It ends no process, and it knows nothing of what a process does.
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

// Process is one process of one machine. A PID alone would not do: it is used again, and it means another process in another
// container.
type Process struct {
	Host string `json:"host"`
	// Machine is this boot of this kernel, and the PID namespace; empty where /proc does not tell.
	Machine string `json:"machine,omitempty"`
	PID     int    `json:"pid"`
	// Began is when the process began, in the kernel's own ticks since the boot; empty where /proc does not tell.
	Began string `json:"began,omitempty"`
}

// Life is what can be told of a process.
type Life string

// What can be told. Elsewhere: the process belongs to another machine, so nothing can be told from here.
const (
	Lives     Life = "lives"
	Ended     Life = "ended"
	Elsewhere Life = "elsewhere"
)

// Self is the process that asks.
func Self() Process {
	host, _ := os.Hostname() // a machine without a name still has the rest
	p := Process{Host: host, Machine: machine(), PID: os.Getpid()}
	p.Began, _ = began(p.PID)
	return p
}

// Life tells whether the process still lives. A zombie has ended.
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

// machine is empty where /proc does not tell: then the host's name has to do.
func machine() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(boot)) + space
}

// The fields of /proc/PID/stat that follow the name, which is in parentheses and may hold anything.
// Source: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
const (
	fieldState = 0
	fieldBegan = 19
)

// began is when a process began. The error is os.ErrNotExist for one that has ended.
func began(pid int) (string, error) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if errors.Is(err, syscall.ESRCH) { // it ended between the opening and the reading
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
