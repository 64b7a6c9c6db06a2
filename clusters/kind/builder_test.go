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
	"strings"
	"testing"
	"testing/synctest"
	"time"

	kindexec "sigs.k8s.io/kind/pkg/exec"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
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

// Without knowing that the old marks are gone, nothing is created, and the name is free again.
func TestClaimCannotForgetAnEarlierCluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file") // nothing below it can be removed, not even by root
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOLDFAST_CACHE", file)
	e := newFakeEngine("podman")
	b := builder{e: e, log: slog.Default(), name: "x", record: clusterRecord{Spec: testSpec}}
	err := b.claim(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "remove the files of cluster x: ") || !strings.HasSuffix(err.Error(), "; they are of an earlier cluster of this name: remove them, or choose another name") {
		t.Errorf("got %v", err)
	}
	if len(e.Networks) != 0 {
		t.Errorf("left %v", slices.Sorted(maps.Keys(e.Networks)))
	}
}

func TestExplain(t *testing.T) {
	plain := errors.New("plain")
	if err := explain(plain); err.Error() != "plain" {
		t.Errorf("an error of no command: %v", err)
	}
	if err := explain(nil); err != nil {
		t.Errorf("no error: %v", err)
	}
	failed := kindexec.Command("sh", "-c", "for i in 1 2 3 4 5 6 7 8; do echo line $i; done; exit 3").Run()
	err := explain(failed)
	if err == nil || !strings.HasSuffix(err.Error(), ": line 3 | line 4 | line 5 | line 6 | line 7 | line 8") {
		t.Errorf("got %v", err)
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

func TestLimitsAreOrdered(t *testing.T) {
	if actWithin <= poll.Interval || deleteWithin <= actWithin || probeLimit >= defaultProveWithin || stopWithin >= actWithin {
		t.Error("the limit of a step is not below the limit of the operation that contains it")
	}
	if got := (Options{}).proveWithin(); got != defaultProveWithin {
		t.Errorf("default %s", got)
	}
	if got := (Options{ProveWithin: time.Second}).proveWithin(); got != time.Second {
		t.Errorf("given %s", got)
	}
}
