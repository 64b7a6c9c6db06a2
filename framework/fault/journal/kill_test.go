package journal

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// played are runs, each with another kind of change. They go through every state: intended, done, seen, undoing, undone, seen undone.
func played() map[string]func(*world) []Change {
	web := Workload("deployments", "shop", "web")
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	always := func(all ...Change) func(*world) []Change { return func(*world) []Change { return all } }
	return map[string]func(*world) []Change{
		"cordon":            always(Cordon("wa1")),
		"label":             always(Label("wa1", "example.com/x", "1")),
		"two labels":        always(Label("wa1", "example.com/x", "1"), Label("wa1", "example.com/y", "2")),
		"change a label":    always(Label("wa1", "topology.kubernetes.io/zone", "elsewhere")),
		"scale":             always(Scale(web, 5)),
		"scale to zero":     always(Scale(web, 0)),
		"restart":           always(Restart(web, at)),
		"restart and scale": always(Restart(web, at), Scale(web, 1)),
		"drain": func(w *world) []Change {
			all := []Change{Cordon("wa1")}
			for _, p := range w.pods() {
				if p.Spec.NodeName == "wa1" {
					all = append(all, EvictPod("shop", p.Name, p.UID))
				}
			}
			return all
		},
		"several": always(Cordon("wa1"), Cordon("wb1"), Scale(web, 2)),
	}
}

// play makes the changes and undoes them, as a run does. It ends where it is killed.
func play(ctx context.Context, o Options, changes []Change) error {
	j, err := Open(ctx, o)
	if err != nil {
		return err
	}
	for _, c := range changes {
		e, err := j.Do(ctx, c)
		if err != nil {
			return err
		}
		if err := j.Seen(ctx, e.Seq, "a witness has seen it"); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second) // a process that was killed does not retry for minutes
	defer cancel()
	if err := j.Undo(ctx); err != nil {
		return err
	}
	return j.Clear(ctx)
}

// TestKilledAtEachRequest kills a run at each of its requests, in each way in which a request can end then, and heals from another machine: nothing
// is left, whatever the change was and however far it had come. A second heal finds nothing.
func TestKilledAtEachRequest(t *testing.T) {
	var kills atomic.Int32
	t.Run("all", func(t *testing.T) { killAll(t, &kills) })
	t.Logf("%d kills", kills.Load())
	if kills.Load() < 400 {
		t.Errorf("only %d kills", kills.Load())
	}
}

func killAll(t *testing.T, kills *atomic.Int32) {
	for name, changes := range played() {
		for _, how := range []cutHow{before, after, slowly} {
			t.Run(name+"/"+string(how), func(t *testing.T) {
				t.Parallel() // most of it is waiting for the disk
				for n := 1; ; n++ {
					done := false
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t)
						kill := &cut{next: w.Config().Transport, at: n, how: how}
						err := play(t.Context(), w.options("run-1", kill), changes(w))
						if done = kill.killed == ""; done {
							if err != nil || w.journals() != 0 {
								t.Errorf("without a kill: %v, %d journals", err, w.journals())
							}
							check(t, "without a kill", w.differences())
							return
						}
						kills.Add(1)
						left, unexplained, err := w.heal(t.Context())
						if how == slowly { // the journal itself may arrive after the first heal, without an entry
							time.Sleep(2 * time.Second)
							more, _, failed := w.heal(t.Context())
							left, err = append(left, more...), errors.Join(err, failed)
						}
						if err != nil || len(unexplained) > 0 || w.journals() != 0 {
							t.Errorf("killed at request %d, %s: %v, unexplained %v, %d journals", n, kill.killed, err, unexplained, w.journals())
						}
						for _, l := range left {
							if name != "drain" {
								t.Errorf("killed at request %d, %s: left %s", n, kill.killed, l)
							}
						}
						check(t, fmt.Sprintf("killed at request %d, %s", n, kill.killed), w.differences())
						if again, _, err := w.heal(t.Context()); err != nil || again != nil {
							t.Errorf("a second heal: %v, %v", again, err)
						}
					})
					if done || t.Failed() {
						break
					}
				}
			})
		}
	}
}
