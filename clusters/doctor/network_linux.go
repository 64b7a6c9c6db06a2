package doctor

import (
	"os"
	"syscall"
)

// ownNetwork has a child run as root in a network namespace of its own. A user namespace makes it root there, if the machine allows that.
func ownNetwork() (*syscall.SysProcAttr, error) {
	attributes := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if uid := os.Geteuid(); uid != 0 {
		attributes.Cloneflags |= syscall.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	return attributes, nil
}
