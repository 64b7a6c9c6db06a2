package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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

func TestIsolatedNotTried(t *testing.T) {
	if err := isolated(t.Context(), "", "no-such-program"); !errors.Is(err, errNotTried) {
		t.Errorf("%v, want errNotTried", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := isolated(ended, "", "true"); !errors.Is(err, errNotTried) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want errNotTried and the cause", err)
	}
}

func TestFreeBytes(t *testing.T) {
	dir := t.TempDir()
	there, err := freeBytes(dir)
	if err != nil || there == 0 {
		t.Errorf("%d, %v; want some", there, err)
	}
	if _, err := freeBytes(filepath.Join(dir, "not", "yet")); err != nil {
		t.Errorf("%v, want the space of the folder above", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := freeBytes(filepath.Join(file, "below")); err == nil {
		t.Error("no error, want one: nothing can be below a file")
	}
}
