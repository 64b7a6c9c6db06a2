package kind

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
)

// A failed claim leaves nothing behind, but never removes another cluster's network.
func TestClaimCleansUpAfterItself(t *testing.T) {
	t.Setenv("HOLDFAST_CACHE", t.TempDir())
	e := newFakeEngine("podman")
	b := builder{e: e, log: slog.Default(), name: "x", record: clusterRecord{Spec: testSpec}}
	e.Fail = func(args []string) error {
		if args[1] == "create" {
			e.Networks["holdfast-x"] = map[string]string{} // created, then interrupted
			return context.Canceled
		}
		return nil
	}
	if err := b.claim(t.Context()); !errors.Is(err, context.Canceled) || len(e.Networks) != 0 {
		t.Errorf("left %v, %v", slices.Sorted(maps.Keys(e.Networks)), err)
	}
	e.Fail = nil
	if err := b.claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.claim(t.Context()); !errors.Is(err, errTaken) || len(e.Networks) != 1 {
		t.Errorf("left %v, %v", slices.Sorted(maps.Keys(e.Networks)), err)
	}
}

// The marks of a cluster whose containers vanished without us are not those of the next cluster of its name. The marks of a cluster that exists
// stay.
func TestClaimForgetsAnEarlierCluster(t *testing.T) {
	t.Setenv("HOLDFAST_CACHE", t.TempDir())
	e := newFakeEngine("podman")
	b := builder{e: e, log: slog.Default(), name: "x", record: clusterRecord{Spec: testSpec}}
	marked := func() {
		t.Helper()
		if err := markKept("x"); err != nil {
			t.Fatal(err)
		}
	}
	marked()
	if err := b.claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir, err := StateDir("x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the files of the earlier cluster: %v", err)
	}
	marked()
	if err := b.claim(t.Context()); !errors.Is(err, errTaken) {
		t.Errorf("a second time: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "kept")); err != nil {
		t.Errorf("the mark of the cluster that is there: %v", err)
	}
}

// Containers that kind creates after its error are removed too, even if the run was interrupted.
func TestDiscardWaitsForStragglers(t *testing.T) {
	t.Setenv("HOLDFAST_CACHE", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEngine("podman")
		fakeCluster(t, e)
		looks := 0
		e.Fail = func(args []string) error {
			if args[0] == "ps" {
				if looks++; looks == 4 {
					e.Containers["holdfast-x-worker9"] = &fakeContainer{State: "running"}
				}
			}
			return nil
		}
		b := builder{e: e, log: slog.Default(), name: "x"}
		if err := b.discard(canceled(t)); err != nil {
			t.Fatal(err)
		}
		if len(e.Containers)+len(e.Networks)+len(e.Volumes) != 0 || looks < 4 {
			t.Errorf("left after %d looks: %v %v %v", looks, slices.Sorted(maps.Keys(e.Containers)), slices.Sorted(maps.Keys(e.Networks)), slices.Sorted(maps.Keys(e.Volumes)))
		}
	})
}
