package doctor

import (
	"errors"
	"os"
	"testing"
)

func TestIsolated(t *testing.T) {
	if err := isolated(t.Context(), "", "true"); errors.Is(err, errNotTried) {
		t.Skipf("this machine does not allow a network namespace: %v", err)
	}
	here, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	if err := isolated(t.Context(), "", "sh", "-c", `test "$(readlink /proc/self/ns/net)" != "`+here+`"`); err != nil {
		t.Errorf("ran in this network namespace: %v", err)
	}
	if err := isolated(t.Context(), "words", "sh", "-c", `test "$(cat)" = words`); err != nil {
		t.Errorf("did not get its input: %v", err)
	}
	err = isolated(t.Context(), "", "sh", "-c", "echo 'Error: no such thing'; echo more; exit 2")
	if err == nil || err.Error() != "sh: no such thing" || errors.Is(err, errNotTried) {
		t.Errorf("%v, want the first line it wrote", err)
	}
}
