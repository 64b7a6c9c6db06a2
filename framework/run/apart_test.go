package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// On a cluster that stays there is no new one for the next scenario: a cluster that was left in the middle of something ends the
// run, which names heal, and did not say otherwise.
func TestAClusterThatStaysAndIsNotAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newFixture(t), quiet()
		c.settings.Cluster = "demo"
		c.onCreate = func(fake *clustertest.Cluster) {
			s.Faults = []fault.Fault{errand{name: "A", do: func(context.Context) error {
				fake.Machines[2].SetState(clusters.Paused)
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
		errtest.Check(t, got.err, "cluster demo is not as it was: waited 1m0s for cluster demo to be as it was: last seen machine wa1 is paused")
		errtest.Check(t, got.err, ": run 'holdfast heal demo'")
		if c.stop == nil || strings.Contains(c.out.String(), "new one") {
			t.Errorf("the run goes on (%v), or says so:\n%s", c.stop, c.out.String())
		}
		c.created[0].Machines[2].SetState(clusters.Running)
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
		c, s := newFixture(t), quiet()
		s.Hold = time.Hour
		undone := false
		s.Faults = []fault.Fault{undoes{func() { undone = true }}}
		if err := runfolder.ReserveRoom(c.settings.Dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(disk, filepath.Join(c.settings.Dir, "chaos")); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(10*time.Second, func() { // into the hour
			fill(t, disk)
			for n := range 100 { // each change of a node is an event
				c.created[0].EditNode("wa1", func(node *corev1.Node) { node.Spec.Unschedulable = n%2 == 0 })
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
		if c.stop == nil || (c.created[0].Get("/api/v1/namespaces/hf-chaos-quiet") != nil) {
			t.Errorf("stop: %v; the namespace is still there: %t", c.stop, (c.created[0].Get("/api/v1/namespaces/hf-chaos-quiet") != nil))
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
