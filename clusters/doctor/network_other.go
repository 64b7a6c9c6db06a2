//go:build !linux

package doctor

import (
	"errors"
	"syscall"
)

// ownNetwork returns an error: the kernel that nodes run on is that of the container engine's machine, which this process cannot ask.
func ownNetwork() (*syscall.SysProcAttr, error) {
	return nil, errors.New("nodes run on the kernel of the container engine's machine, and this is another one")
}
