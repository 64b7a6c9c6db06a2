package fault

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/kubectl/pkg/drain"

	"github.com/holdfast-ha/holdfast/clusters"
)

var errAway = errors.New("the API server is away")

// fail has the n-th request of a kind fail, from 1, and all that follow up to the last.
func (w *world) fail(verb, resource string, first, last int) {
	n := 0
	w.client.PrependReactor(verb, resource, func(k8stesting.Action) (bool, runtime.Object, error) {
		n++
		return n >= first && n <= last, nil, errAway
	})
}

// TestAnErrorOfTheAPIEndsInAnUndo: wherever it happens, it is said what could not be done, nothing is seen, and the undo
// leaves all as it was.
func TestAnErrorOfTheAPIEndsInAnUndo(t *testing.T) {
	const once, ever = 1, 1 << 30
	for _, s := range []struct {
		fault          Fault
		verb, resource string
		first, last    int
		want           string
	}{
		{Scale{Through: []int{9}}, "get", "deployments", 1, once, "read deployment ns/backend: the API server is away"},
		{Scale{Through: []int{9}}, "list", "pods", 1, once, "list pods of ns/backend: the API server is away"},
		{Scale{Through: []int{9}}, "get", "deployments", 3, 3, "scale backend to 9: read scale: the API server is away"},
		{Scale{Through: []int{9}}, "update", "deployments", 1, once, "scale backend to 9: the API server is away"},
		{Scale{Through: []int{9, 3}}, "update", "deployments", 2, 2, "scale backend to 3: the API server is away"},
		{Scale{Through: []int{9}}, "list", "pods", 3, 3, "list pods of ns/backend: the API server is away"},
		{Rollout{}, "get", "deployments", 1, once, "read deployment ns/backend: the API server is away"},
		{Rollout{}, "list", "pods", 1, once, "list pods of ns/backend: the API server is away"},
		{Rollout{}, "patch", "deployments", 1, once, "roll backend: the API server is away"},
		{Rollout{}, "list", "pods", 3, 3, "list pods of ns/backend: the API server is away"},
		{PodDelete{Count: 2}, "list", "pods", 1, once, "list pods of ns/backend: the API server is away"},
		{PodDelete{Count: 2}, "delete", "pods", 1, once, "delete pod pod-002: the API server is away"},
		{PodDelete{Count: 2}, "delete", "pods", 2, 2, "delete pod pod-006: the API server is away"},
		{Evict{}, "create", "pods", 3, 3, "evict pod pod-003: the API server is away"},
		{Evict{}, "list", "pods", 3, 3, "list pods of ns/backend: the API server is away"},
		{Drain{}, "list", "pods", 1, once, "list pods of ns/backend: the API server is away"},
		{Drain{}, "get", "nodes", 1, once, "cordon w2: the API server is away"},
		{Drain{}, "patch", "nodes", 1, once, "set w2 unschedulable=true: the API server is away"},
		{Drain{Nodes: 2}, "patch", "nodes", 2, 2, "set w1 unschedulable=true: the API server is away"},
		{Drain{}, "get", "nodes", 2, 2, "set w2 unschedulable=true: the API server is away"},
		{Drain{}, "create", "pods", 1, ever, "drain w2: "},
		{TryDrain{For: 9 * time.Second}, "list", "pods", 1, once, "list pods of ns/backend: the API server is away"},
		{TryDrain{For: 9 * time.Second}, "patch", "nodes", 1, once, "set w3 unschedulable=true: the API server is away"},
		{TryDrain{For: 9 * time.Second}, "create", "pods", 1, 2, "drain w3: [error when evicting pods"},
		{TryDrain{For: 9 * time.Second}, "list", "pods", 4, 4, "list pods of ns/backend: the API server is away"},
		{BadRollout{Args: badArgs}, "get", "deployments", 1, once, "read deployment ns/backend: the API server is away"},
		{BadRollout{Args: badArgs}, "list", "pods", 1, once, "list pods of ns/backend: the API server is away"},
		{BadRollout{Args: badArgs}, "patch", "deployments", 1, once, "change the command line of backend: the API server is away"},
		{live, "get", "configmaps", 1, once, "read ConfigMap backend: the API server is away"},
		{live, "list", "pods", 1, once, "list pods of ns/backend: the API server is away"},
		{live, "patch", "configmaps", 1, once, "change ConfigMap backend: the API server is away"},
		{secret, "patch", "secrets", 1, once, "change Secret backend: the API server is away"},
		{secret, "patch", "deployments", 1, once, "roll backend: the API server is away"},
		{NodeKill{}, "list", "pods", 1, once, "list pods of ns/backend: the API server is away"},
		{FillNode{}, "list", "pods", 1, once, "list pods of ns/backend: the API server is away"},
		{FillNode{Worker: 2}, "list", "pods", 2, 2, "list pods on w2: the API server is away"},
		{FillNode{Worker: 2}, "get", "nodes", 1, once, "read node w2: the API server is away"},
		{FillNode{}, "create", "pods", 1, once, "fill w2: the API server is away"},
		{NodePressure{}, "list", "pods", 1, once, "list pods of ns/backend: the API server is away"},
		{NodePressure{}, "list", "pods", 3, 3, "list pods of ns/backend: the API server is away"},
		{NodePressure{Disk: true}, "list", "pods", 3, 3, "list pods of ns/backend: the API server is away"},
		{NodePause{}, "list", "pods", 1, once, "list pods of ns/backend: the API server is away"},
		{NodeStop{}, "list", "pods", 1, once, "list pods of ns/backend: the API server is away"},
		{Partition{}, "list", "pods", 1, once, "list pods of ns/backend: the API server is away"},
		{Partition{Zone: true}, "list", "pods", 2, 2, "list pods of ns/backend: the API server is away"},
		{Partition{Worker: 1}, "get", "nodes", 1, once, "partition of worker 1: read node w1: the API server is away"},
		{ZoneOutage{}, "list", "pods", 1, once, "list pods of ns/backend: the API server is away"},
		{ZoneOutage{}, "list", "pods", 2, 2, "list pods of ns/backend: the API server is away"},
		{Autoscale{CPU: 60, Max: 9}, "get", "deployments", 1, once, "read deployment ns/backend: the API server is away"},
		{Autoscale{CPU: 60, Max: 9}, "create", "horizontalpodautoscalers", 1, once, "autoscale backend: the API server is away"},
		{Resize{CPU: "20m"}, "list", "pods", 1, once, "list pods of ns/backend: the API server is away"},
		{Resize{CPU: "20m"}, "patch", "pods", 1, once, "resize pod pod-001: the API server is away"},
		{Resize{CPU: "20m"}, "patch", "pods", 3, 3, "resize pod pod-003: the API server is away"},
		{AutoscaleVertically{}, "get", "deployments", 1, once, "read deployment ns/backend: the API server is away"},
		{NodeKill{Worker: 1}, "list", "pods", 1, once, "list pods of ns/backend: the API server is away"},
	} {
		t.Run(s.fault.String()+"/"+s.verb+" "+s.resource, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(6, "w1", "w2", "w3")
				w.have("ConfigMap")
				w.have("Secret")
				w.fail(s.verb, s.resource, s.first, s.last)
				heal, err := inject(t.Context(), s.fault, w.target())
				if err == nil || !strings.HasPrefix(err.Error(), s.want) || len(w.seen) != 0 {
					t.Errorf("got %v, seen %q\nwant %s", err, w.seen, s.want)
				}
				if s.last == ever {
					w.client.PrependReactor("create", "pods", w.evicted) // it is back
				}
				if err := heal(t.Context()); err != nil {
					t.Errorf("undo: %v", err)
				}
				if w.cordoned() != nil || len(w.podNames()) != 6 {
					t.Errorf("after the undo: cordoned %q, %d pods", w.cordoned(), len(w.podNames()))
				}
			})
		})
	}
}

// TestAMomentWithoutTheAPIServerIsWaitedOut: while it is waited for something to be seen, that is, and for a heal.
func TestAMomentWithoutTheAPIServerIsWaitedOut(t *testing.T) {
	each(t, func(t *testing.T, f Fault, w *world) {
		w.fail("list", "endpointslices", 1, 5)
		heal, err := inject(t.Context(), f, w.target())
		if err != nil || len(w.seen) != 1 {
			t.Fatalf("got %v, seen %q", err, w.seen)
		}
		w.fail("list", "endpointslices", 1, 5)
		if err := heal(t.Context()); err != nil || len(w.healed) != 1 {
			t.Errorf("undo: %v, healed %q", err, w.healed)
		}
	})
}

// TestHealsRunOnceWithTheirOwnContext: after the context of Inject has ended, and a second call asks for nothing.
func TestHealsRunOnceWithTheirOwnContext(t *testing.T) {
	each(t, func(t *testing.T, f Fault, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		heal, err := inject(ctx, f, w.target())
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		var calls sync.WaitGroup // the scenario and Ctrl-C may both undo
		var failed atomic.Int32
		for range 4 {
			calls.Go(func() {
				if heal(t.Context()) != nil {
					failed.Add(1)
				}
			})
		}
		calls.Wait()
		asked := len(w.client.Actions())
		if err := heal(t.Context()); err != nil || failed.Load() != 0 {
			t.Errorf("undo: %v, %d of 4 failed", err, failed.Load())
		}
		if more := len(w.client.Actions()) - asked; more != 0 || len(w.healed) != 1 {
			t.Errorf("called again it made %d requests; healed %q", more, w.healed)
		}
		for _, n := range w.nodes {
			if m := n.(*machine); m.starts > 1 || m.state != clusters.Running {
				t.Errorf("%s was started %d times and is %s", m.name, m.starts, m.state)
			}
		}
	})
}

// TestAHealThatFailsSaysSoEveryTime: who calls it again must not think that all is well.
func TestAHealThatFailsSaysSoEveryTime(t *testing.T) {
	each(t, func(t *testing.T, f Fault, w *world) {
		heal, err := inject(t.Context(), f, w.target())
		if err != nil {
			t.Fatal(err)
		}
		w.fail("get", "deployments", 1, 1<<30)
		first, again := heal(t.Context()), heal(t.Context())
		if first == nil || !errors.Is(again, first) || len(w.healed) != 0 {
			t.Errorf("first %v, then %v, healed %q", first, again, w.healed)
		}
	})
}

// TestACancelledHealEnds: the time for all undos is limited.
func TestACancelledHealEnds(t *testing.T) {
	each(t, func(t *testing.T, f Fault, w *world) {
		heal, err := inject(t.Context(), f, w.target())
		if err != nil {
			t.Fatal(err)
		}
		w.frozen = true
		w.unsettle()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		if err := heal(ctx); err == nil || len(w.healed) != 0 {
			t.Errorf("got %v, healed %q", err, w.healed)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// TestAnUndoWaitsUntilItIsSeen, also when it is called while the disturbance is still on its way.
func TestAnUndoWaitsUntilItIsSeen(t *testing.T) {
	each(t, func(t *testing.T, f Fault, w *world) {
		const lag = 10 * time.Second
		w.lag = lag
		for _, n := range w.nodes {
			n.(*machine).immortal = true
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		heal, err := inject(ctx, f, w.target())
		if err == nil {
			t.Fatal("seen before it can have happened")
		}
		if err := heal(t.Context()); err != nil {
			t.Fatal(err)
		}
		if done, saw, err := w.target().settled(t.Context()); !done || err != nil || len(w.healed) != 1 {
			t.Errorf("after the undo: %s, %v, healed %q", saw, err, w.healed)
		}
		if w.cordoned() != nil || len(w.podNames()) != 6 {
			t.Errorf("cordoned %q, %d pods", w.cordoned(), len(w.podNames()))
		}
		time.Sleep(2 * lag) // what was asked for before must be over
		if len(w.podNames()) != 6 {
			t.Errorf("later, %d pods", len(w.podNames()))
		}
	})
}

// TestAnUndoOfADrainOpensAllItCan: one node that cannot be opened does not keep the others closed.
func TestAnUndoOfADrainOpensAllItCan(t *testing.T) {
	w := newWorld(6, "w1", "w2", "w3")
	heal, err := inject(t.Context(), Drain{Nodes: 2}, w.target())
	if err != nil {
		t.Fatal(err)
	}
	w.fail("get", "nodes", 1, 1)
	closed := w.cordoned()
	err = heal(t.Context())
	if err == nil || !strings.Contains(err.Error(), "unschedulable=false: the API server is away") || len(w.healed) != 0 {
		t.Errorf("got %v, healed %q", err, w.healed)
	}
	if got := w.cordoned(); len(closed) != 2 || len(got) != 1 {
		t.Errorf("of %q, %q are still closed: one of them could have been opened", closed, got)
	}
}

// TestAnUndoOfADrainThatDoesNothing: an API server that takes it and shows the opposite is no witness.
func TestAnUndoOfADrainThatDoesNothing(t *testing.T) {
	w := newWorld(6, "w1", "w2", "w3")
	heal, err := inject(t.Context(), Drain{}, w.target())
	if err != nil {
		t.Fatal(err)
	}
	w.deaf = true
	const want = "set w2 unschedulable=false: the API server accepted the patch but still returns unschedulable=true"
	if err := heal(t.Context()); err == nil || err.Error() != want || len(w.healed) != 0 {
		t.Errorf("got %v, healed %q, want %s", err, w.healed, want)
	}
}

// TestAMachineThatCannotBeKilledOrStarted: the engine's word is passed on, with the machine's name. One that cannot even be
// looked at is left alone.
func TestAMachineThatCannotBeKilledOrStarted(t *testing.T) {
	const gone, started = "kill w1: no such container", "start w1: no such container"
	for name, s := range map[string]struct {
		spoil func(*machine)
		undo  string
	}{
		"seen":   {func(m *machine) { m.err = errors.New("no such container") }, ""},
		"killed": {func(m *machine) { m.killErr = errors.New("no such container") }, started},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(6, "w1", "w2", "w3")
			m := w.nodes[0].(*machine)
			s.spoil(m)
			heal, err := inject(t.Context(), NodeKill{Worker: 1}, w.target())
			if err == nil || err.Error() != gone || len(w.seen) != 0 {
				t.Errorf("got %v, seen %q", err, w.seen)
			}
			m.err = errors.New("no such container")
			if err := heal(t.Context()); (s.undo == "") != (err == nil) || err != nil && err.Error() != s.undo || len(w.healed) != 0 {
				t.Errorf("undo: %v, healed %q", err, w.healed)
			}
		})
	}
}

// TestADrainWaitsForTheBudget: a refused eviction is asked for again until the budget lets it pass.
func TestADrainWaitsForTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6, "w1", "w2", "w3")
		w.evictable = 1
		time.AfterFunc(20*time.Second, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.evictable = 1000
		})
		began := time.Now()
		if _, err := inject(t.Context(), Drain{}, w.target()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 20*time.Second || took > 22*time.Second+evictRetry {
			t.Errorf("it took %s, and the budget let go after 20s", took)
		}
	})
}

// TestADrainThatTheBudgetForbidsEnds: after its limit, and without having been seen.
func TestADrainThatTheBudgetForbidsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6, "w1", "w2", "w3")
		w.evictable = 0
		began := time.Now()
		heal, err := inject(t.Context(), Drain{}, w.target())
		if err == nil || !strings.HasPrefix(err.Error(), "drain w2: ") || len(w.seen) != 0 {
			t.Errorf("got %v, seen %q", err, w.seen)
		}
		if took := time.Since(began); took < DrainLimit || took > DrainLimit+time.Minute {
			t.Errorf("it took %s, and the limit is %s", took, DrainLimit)
		}
		if err := heal(t.Context()); err != nil || w.cordoned() != nil {
			t.Errorf("undo: %v, cordoned %q", err, w.cordoned())
		}
	})
}

// TestDrainsAreKubectls: each pod's own grace period, and no pod stops a drain but by a budget.
func TestDrainsAreKubectls(t *testing.T) {
	d := newWorld(1, "w1").target().drainer(t.Context())
	got := []any{d.GracePeriodSeconds, d.IgnoreAllDaemonSets, d.DeleteEmptyDirData, d.Force, d.DisableEviction, d.DryRunStrategy, d.Timeout}
	if want := []any{-1, true, true, true, false, drain.Helper{}.DryRunStrategy, DrainLimit}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
