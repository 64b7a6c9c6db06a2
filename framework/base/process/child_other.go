//go:build !linux

package process

import (
	"errors"
	"syscall"
)

// EndWithParent does nothing: only Linux tells a child of the end of its parent. A child of a killed process goes on.
func EndWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// OwnMounts returns an error: only Linux has mount namespaces.
func OwnMounts(*syscall.SysProcAttr) error {
	return errors.New("only Linux has mount namespaces: run this on Linux, such as in the machine of the container engine")
}
