package process

import "syscall"

// EndWithParent has the kernel send a child a signal when this process ends, however it ends.
func EndWithParent(attributes *syscall.SysProcAttr, signal syscall.Signal) {
	attributes.Pdeathsig = signal
}

// OwnMounts has a child run in a mount namespace of its own, so that its mounts end with it.
func OwnMounts(attributes *syscall.SysProcAttr) error {
	attributes.Unshareflags |= syscall.CLONE_NEWNS
	return nil
}
