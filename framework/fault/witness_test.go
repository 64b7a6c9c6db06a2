package fault

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// each plays the faults that need no world of their own, in bubbles of their own time.
func each(t *testing.T, play func(t *testing.T, f Fault, w *world)) {
	t.Helper()
	for _, f := range Examples() {
		switch f.(type) {
		case ControlPlaneKill, EtcdLeaderKill, UpgradeControlPlane, UpgradeWorkers, ComponentAway, ComponentKill:
			continue
		}
		t.Run(f.String(), inBubble(func(t *testing.T) {
			w, _ := worldFor(t, f)
			play(t, f, w)
		}))
	}
}

// TestInjectReturnsWhenItIsSeen: not when the API calls do. Controllers act ten seconds late, and machines die so.
func TestInjectReturnsWhenItIsSeen(t *testing.T) {
	const lag = 10 * time.Second
	each(t, func(t *testing.T, f Fault, w *world) {
		w.lag = lag
		for _, n := range w.nodes {
			n.(*machine).lag = lag
		}
		began := time.Now()
		heal, err := inject(t.Context(), f, w.target())
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		if len(w.seen) != 1 {
			t.Errorf("seen %d times: %q", len(w.seen), w.seen)
		}
		steps := 1
		if s, ok := f.(Scale); ok {
			steps = len(s.Through)
		}
		// kubectl's drain looks once a second, the others every poll.Interval, at each step.
		if most := time.Duration(steps)*(lag+poll.Interval) + 2*time.Second; took < time.Duration(steps)*lag || took > most {
			t.Errorf("it took %s, want %s to %s", took, lag, most)
		}
		if err := heal(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(w.healed) != 1 {
			t.Errorf("healed %d times: %q", len(w.healed), w.healed)
		}
		if done, saw, err := w.target().settled(t.Context()); !done || err != nil {
			t.Errorf("after the undo: %s, %v", saw, err)
		}
	})
}

// TestAFaultThatDoesNotBiteIsAnError: where the API server keeps what it is asked for, and the controllers are dead, Inject ends
// in an error and never in Seen; and its undo is there. Of an API server that keeps nothing, see
// TestAFaultThatDoesNothingIsAnError.
func TestAFaultThatDoesNotBiteIsAnError(t *testing.T) {
	each(t, func(t *testing.T, f Fault, w *world) {
		w.frozen = true
		for _, n := range w.nodes {
			n.(*machine).immortal = true
		}
		heal, err := inject(t.Context(), f, w.target())
		if err == nil || len(w.seen) != 0 {
			t.Errorf("Inject: %v, seen %q: want an error and nothing seen", err, w.seen)
		}
		if heal == nil {
			t.Error("no heal: what is half done could not be undone")
		}
	})
}

// TestOneWitnessIsNotEnough: each of the two that a fault asks must have seen it.
func TestOneWitnessIsNotEnough(t *testing.T) {
	for name, s := range map[string]struct {
		fault Fault
		spoil func(*world)
		want  string
	}{
		"the kubelet of a dead machine answers": {NodeKill{}, func(w *world) {
			for _, n := range w.nodes {
				n.(*machine).talks = true
			}
		}, "waited 30s for node w2 to be dead: last seen state exited, kubelet port silent: false ("},
		"the machine of a silent kubelet runs": {NodeKill{}, func(w *world) {
			for _, n := range w.nodes {
				n.(*machine).immortal = true
			}
		}, "waited 30s for node w2 to be dead: last seen state running, kubelet port silent: false ("},
		"clients are still sent to a deleted pod": {PodDelete{Count: 2}, func(w *world) { w.stale = true },
			"waited 10m0s for pods pod-002, pod-006 to be gone: last seen 2 endpoints left of them ("},
		"no endpoint for a pod that is ready": {Scale{Through: []int{9}}, func(w *world) { w.stale = true },
			"waited 10m0s for deployment backend to settle: last seen 9 of 9 pods available; " +
				"Service backend should have 9 endpoints (it has 6) ("},
		"pods that went by somebody else's doing": {NodePressure{Worker: 2}, func(w *world) { w.evictor = "DeletionByTaintManager" },
			"waited 5m0s for the kubelet of w2 to evict pod-001, pod-004: last seen the API server shows MemoryPressure=true of w2, " +
				"its taint: true; 0 of 2 pods evicted by the kubelet, 0 endpoints left of them ("},
		"a node under pressure without a taint": {NodePressure{Worker: 2}, func(w *world) { w.untainted = true },
			"waited 5m0s for the kubelet of w2 to evict pod-001, pod-004: last seen the API server shows MemoryPressure=true of w2, " +
				"its taint: false; 2 of 2 pods evicted by the kubelet, 0 endpoints left of them ("},
		"clients are still sent to an evicted pod": {NodePressure{Worker: 2}, func(w *world) { w.stale = true },
			"waited 5m0s for the kubelet of w2 to evict pod-001, pod-004: last seen the API server shows MemoryPressure=true of w2, " +
				"its taint: true; 2 of 2 pods evicted by the kubelet, 2 endpoints left of them ("},
		"a drained node that takes pods": {Drain{}, func(w *world) { w.stubborn = true }, "drain w2: pod "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(6, "w1", "w2", "w3")
				s.spoil(w)
				_, err := inject(t.Context(), s.fault, w.target())
				if err == nil || !strings.HasPrefix(err.Error(), s.want) || len(w.seen) != 0 {
					t.Errorf("got %v, seen %q\nwant %s", err, w.seen, s.want)
				}
			})
		})
	}
}

// TestAPodThatIsGoingIsNotSettled: right after an eviction all else looks as before, until a controller has noticed.
func TestAPodThatIsGoingIsNotSettled(t *testing.T) {
	w := newWorld(3, "w1")
	if done, saw, err := w.target().settled(t.Context()); !done || err != nil {
		t.Fatalf("%s, %v", saw, err)
	}
	w.send("pod-002")
	done, saw, err := w.target().settled(t.Context())
	if want := "3 of 3 pods available; 1 pod being deleted"; done || err != nil || saw != want {
		t.Errorf("%t, %q, %v", done, saw, err)
	}
}

// TestACancelledInjectEndsAtOnce, says why, and has seen nothing. What is half done is undone by a context of its own.
func TestACancelledInjectEndsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, f Fault, w *world) {
		w.frozen = true
		w.unsettle()
		for _, n := range w.nodes {
			n.(*machine).immortal = true
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		began := time.Now()
		heal, err := inject(ctx, f, w.target())
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("it ended %s after it began, cancelled at 3s", took)
		}
		// kubectl's drain puts its errors into words.
		if err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) || len(w.seen) != 0 {
			t.Errorf("got %v, seen %q", err, w.seen)
		}
		w.frozen = false
		w.act(nil)
		if err := heal(context.WithoutCancel(ctx)); err != nil {
			t.Errorf("undo: %v", err)
		}
		if len(w.healed) != 1 || w.cordoned() != nil || len(w.podNames()) != 6 {
			t.Errorf("after the undo: healed %q, cordoned %q, %d pods", w.healed, w.cordoned(), len(w.podNames()))
		}
	})
}
