package scenario

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// A run that is refused because another one uses its namespace removed that namespace afterwards, and with it the other's pods.
func TestARefusedRunLeavesTheOthersNamespaceAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, home, _ := newStage(t, quiet())
		checkError(t, first.makeNamespace(t.Context()), "")
		other := &run{settings: first.run.settings, pool: first.run.pool, token: "another's"}
		second := &stage{run: other, spec: first.spec, cluster: first.cluster, client: first.client, objects: first.objects, namespace: first.namespace}
		checkError(t, second.makeNamespace(t.Context()), "is there already, and this run has not made it")
		checkError(t, second.clear(t.Context()), "")
		if !home.has("/api/v1/namespaces/hf-chaos-quiet") {
			t.Fatal("the refused run has removed the namespace of the first")
		}
		checkError(t, first.clear(t.Context()), "")
		if home.has("/api/v1/namespaces/hf-chaos-quiet") {
			t.Error("the first run has not removed its own")
		}
	})
}

// A namespace that another run made between our look and our deletion is not deleted: the deletion is for one UID.
func TestADeletionIsForOneNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, home, _ := newStage(t, quiet())
		checkError(t, st.makeNamespace(t.Context()), "")
		var only, uid string
		home.mu.Lock()
		uid = string(home.objects["/api/v1/namespaces/hf-chaos-quiet"].GetUID())
		home.mu.Unlock()
		home.sent = func(method, path, body string) {
			if method == http.MethodDelete && strings.HasSuffix(path, "/hf-chaos-quiet") {
				only = body
			}
		}
		checkError(t, st.clear(t.Context()), "")
		if uid == "" || !strings.Contains(only, uid) {
			t.Errorf("deleted with %s, and not by its UID", only)
		}
	})
}

// On a cluster that stays there is no new one for the next scenario: a cluster that was left in the middle of something ends the
// run, which names heal, and did not say otherwise.
func TestAClusterThatStaysAndIsNotAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newCounty(t), quiet()
		c.settings.Cluster = "demo"
		c.founded = func(home *town) {
			s.Faults = []fault.Fault{errand{name: "A", do: func(context.Context) error {
				home.machines[2].become(clusters.Paused)
				return nil
			}}}
		}
		if _, err := c.pool.get(t.Context(), s.Cluster); err != nil {
			t.Fatal(err)
		}
		if got := c.one(t.Context(), s); got.outcome != verdict.Held {
			t.Errorf("got %+v", got)
		}
		again := s
		again.Name += "-again"
		got := c.one(t.Context(), again)
		checkError(t, got.err, "cluster demo is not as it was: waited 1m0s for cluster demo to be as it was: last seen machine wa1 is paused")
		checkError(t, got.err, ": run 'holdfast heal demo'")
		if c.stop == nil || strings.Contains(c.out.String(), "new one") {
			t.Errorf("the run goes on (%v), or says so:\n%s", c.stop, c.out.String())
		}
		c.towns[0].machines[2].become(clusters.Running)
		if _, err := c.pool.get(t.Context(), s.Cluster); err != nil {
			t.Errorf("once it is as it was: %v", err)
		}
	})
}

// A full disk ends the scenario at its first write that fails: what is done after that proves nothing. Its faults are undone, its
// namespace is removed, it is said once why, and no further scenario is begun.
func TestAFullDiskEndsTheRunSoon(t *testing.T) {
	disk := smallDisk(t)
	synctest.Test(t, func(t *testing.T) {
		c, s := newCounty(t), quiet()
		s.Hold = time.Hour
		undone := false
		s.Faults = []fault.Fault{undoes{func() { undone = true }}}
		if err := history.ReserveRoom(c.settings.Dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(disk, filepath.Join(c.settings.Dir, "chaos")); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(10*time.Second, func() { // into the hour
			fill(t, disk)
			for n := range 100 { // each change of a node is an event
				c.towns[0].editNode("wa1", func(node *corev1.Node) { node.Spec.Unschedulable = n%2 == 0 })
			}
		})
		began := time.Now()
		got := c.one(t.Context(), s)
		if took := time.Since(began); took > 5*time.Minute || !undone {
			t.Errorf("it took %s; undone: %t", took, undone)
		}
		if !errors.Is(got.err, syscall.ENOSPC) || strings.Count(got.err.Error(), "no space left on device") != 1 {
			t.Errorf("got %v", got.err)
		}
		if n := strings.Count(c.out.String(), "no space left on device"); n > 2 { // as it happens, and as the verdict
			t.Errorf("it is said %d times:\n%s", n, c.out.String())
		}
		if c.stop == nil || c.towns[0].has("/api/v1/namespaces/hf-chaos-quiet") {
			t.Errorf("stop: %v; the namespace is still there: %t", c.stop, c.towns[0].has("/api/v1/namespaces/hf-chaos-quiet"))
		}
		if _, err := os.Stat(filepath.Join(c.settings.Dir, ".room")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the room for the report is not free: %v", err)
		}
		if kept := c.kept().Scenarios[0]; !strings.Contains(kept.Error, "no space left on device") {
			t.Errorf("run.json: %+v", kept)
		}
	})
}

// undoes is a fault that says when it was undone.
type undoes struct{ undone func() }

func (undoes) String() string { return "B" }

func (u undoes) Plan(context.Context, fault.Target) (fault.Disruption, error) {
	return errand{undo: u.undone}.effect("undone"), nil
}

// smallDisk is a folder on a disk of its own, of 256 KiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a disk that can be filled takes root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill leaves no room on a disk.
func fill(t *testing.T, disk string) {
	t.Helper()
	file, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Error(err)
		return
	}
	for err == nil {
		_, err = file.Write(make([]byte, 1024))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	_ = file.Close() // which says the same
}

// The API server refuses; nothing is known of the namespace, so nothing is deleted, and the reason is said.
func TestANamespaceThatCannotBeLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, home, _ := newStage(t, quiet())
		checkError(t, st.makeNamespace(t.Context()), "")
		home.refuse = func(string, string) *apierrors.StatusError { return apierrors.NewUnauthorized("who are you?") }
		checkError(t, st.emptyNamespace(t.Context()), "look at namespace hf-chaos-quiet: who are you?")
	})
}
