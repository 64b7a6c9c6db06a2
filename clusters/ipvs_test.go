package clusters

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// TestKernelHas asks for a family that every kernel has, and for one that none has.
func TestKernelHas(t *testing.T) {
	if err := kernelHas("nlctrl"); err != nil {
		t.Errorf("the family that answers is not there: %v", err)
	}
	err := kernelHas("HOLDFAST")
	if !errors.Is(err, unix.ENOENT) || err.Error() != "ask the kernel for HOLDFAST: it says no such file or directory" {
		t.Errorf("got %v", err)
	}
}

// TestFamilyAnswer reads what a kernel may say, and what is too short to be its word.
func TestFamilyAnswer(t *testing.T) {
	if err := familyAnswer("IPVS", make([]byte, 10)); err == nil {
		t.Error("ten bytes were taken for an answer")
	}
	if err := familyAnswer("IPVS", nil); err == nil {
		t.Error("nothing was taken for an answer")
	}
}
