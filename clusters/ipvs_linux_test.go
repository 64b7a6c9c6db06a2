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
	err := kernelHas("HOLDFAST")
	if !errors.Is(err, unix.ENOENT) || err.Error() != "ask the kernel for HOLDFAST: no such file or directory" {
		t.Errorf("got %v", err)
	}
}

// TestFamilyAnswer covers answers that are too short to be netlink messages.
func TestFamilyAnswer(t *testing.T) {
	if err := familyAnswer("IPVS", make([]byte, 10)); err == nil {
		t.Error("ten bytes were taken for an answer")
	}
	if err := familyAnswer("IPVS", nil); err == nil {
		t.Error("nothing was taken for an answer")
	}
}
