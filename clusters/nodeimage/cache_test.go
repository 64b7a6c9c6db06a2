package nodeimage

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func openTestCache(t *testing.T, dir string) *Cache {
	t.Helper()
	c, err := openCache(t.Context(), dir, func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestEntry(t *testing.T) {
	c := openTestCache(t, t.TempDir())
	filled := 0
	fill := func(keep, work string) error {
		filled++
		return errors.Join(
			os.WriteFile(filepath.Join(keep, "kubeadm"), []byte("x"), 0o755),
			os.WriteFile(filepath.Join(work, "go.mod"), []byte("x"), 0o644))
	}
	for _, want := range []bool{false, true} {
		dir, cached, err := c.Entry("kubernetes", fill)
		if err != nil || cached != want {
			t.Fatalf("cached %v, %v; want %v", cached, err, want)
		}
		if diff := cmp.Diff([]string{"kubeadm"}, inFolder(t, dir)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if filled != 1 {
		t.Errorf("made %d times", filled)
	}
	if diff := cmp.Diff([]string{"kubernetes", "lock", "log"}, inFolder(t, c.dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFailedEntryLeavesNothing(t *testing.T) {
	c := openTestCache(t, t.TempDir())
	stop := errors.New("disk full")
	_, _, err := c.Entry("kubernetes", func(keep, _ string) error {
		return errors.Join(os.WriteFile(filepath.Join(keep, "half"), nil, 0o644), stop)
	})
	if !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"lock", "log"}, inFolder(t, c.dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A killed build could not clean up.
func TestOpenSweeps(t *testing.T) {
	dir := t.TempDir()
	half := filepath.Join(dir, tempPrefix+"123", "keep")
	if err := os.MkdirAll(half, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "rootfs-bookworm-1"), 0o755); err != nil {
		t.Fatal(err)
	}
	openTestCache(t, dir)
	if diff := cmp.Diff([]string{"lock", "log", "rootfs-bookworm-1"}, inFolder(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOneBuildAtATime(t *testing.T) {
	dir := t.TempDir()
	first := openTestCache(t, dir)
	waiting, got := make(chan struct{}), make(chan error, 1)
	go func() {
		second, err := openCache(t.Context(), dir, func() { close(waiting) })
		if err == nil {
			err = second.Close()
		}
		got <- err
	}()
	<-waiting
	select {
	case err := <-got:
		t.Fatalf("the second did not wait: %v", err)
	default:
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-got:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the second never got the lock")
	}
}
