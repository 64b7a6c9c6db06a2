package clusters

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// TestKernelHas asks for a family that every kernel has, and for a family that no kernel has.
func TestKernelHas(t *testing.T) {
	if err := kernelHas("nlctrl"); err != nil {
		t.Errorf("family nlctrl: %v", err)
	}
	if err := kernelHas("HOLDFAST"); !errors.Is(err, unix.ENOENT) {
		t.Errorf("got %v", err)
	}
}
