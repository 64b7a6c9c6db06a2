package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// machine is the identity of the boot, which is a new one after each start of the machine. It is empty if the kernel does not tell. Then only the
// host name identifies the machine.
func machine() string {
	boot, _ := unix.Sysctl("kern.bootsessionuuid")
	return boot
}

// stateZombie is the state SZOMB of <sys/proc.h>.
const stateZombie = 5

// began is the start time of a process, in seconds since 1970. A clock that is set does not change it. The error is os.ErrNotExist if the process
// has ended.
func began(pid int) (string, error) {
	about, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.EIO) && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) { // the kernel's answer is empty, which unix calls EIO
		return "", os.ErrNotExist
	}
	if err != nil {
		return "", fmt.Errorf("ask the kernel about process %d: %w", pid, err)
	}
	if about.Proc.P_stat == stateZombie {
		return "", os.ErrNotExist
	}
	at := about.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", at.Sec, at.Usec), nil
}
