// Package process identifies a process so that another process can check later whether it is still alive, and ties a child to its parent.
//
// The package does not end processes.
package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// Process identifies one process on one machine. A PID alone is not enough: PIDs are reused, and each container has its own
// PIDs.
type Process struct {
	Host string `json:"host"`
	// Machine identifies the boot of the machine, and on Linux also the PID namespace. Empty if the system does not tell.
	Machine string `json:"machine,omitempty"`
	PID     int    `json:"pid"`
	// Began is the start time of the process, in the form that this system has for it. Empty if the system does not tell.
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
	if p.PID <= 0 || !p.isOf(runtime.GOOS, self, machine()) {
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

// isOf reports whether the process belongs to a machine. A Mac gets another host name from each network that it joins, and its boot's identity is
// unique. On Linux the host name counts too, because a container may not see all of its identity.
func (p Process) isOf(system, host, machine string) bool {
	return p.Machine == machine && (p.Host == host || system == "darwin" && machine != "")
}

func (p Process) String() string { return fmt.Sprintf("process %d on %s", p.PID, p.Host) }
