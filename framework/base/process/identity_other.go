//go:build !darwin

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
