package engine

import (
	"testing"
)

// A remote daemon on Linux has another kernel; one on this machine has this one.
func TestElsewhere(t *testing.T) {
	h := host{system: "linux", kernel: "6.8.0-45-generic"}
	for theirs, want := range map[string]bool{"6.8.0-45-generic": false, "6.10.14-linuxkit": true, "": false} {
		if got := h.isElsewhere(facts{Kernel: theirs}); got != want {
			t.Errorf("kernel %q: elsewhere %t, want %t", theirs, got, want)
		}
	}
}
