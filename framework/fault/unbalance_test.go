package fault

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestUnbalanceEmptiesAWholeZone: all of its workers, no other, and they take pods again when it is seen.
func TestUnbalanceEmptiesAWholeZone(t *testing.T) {
	w := newWorld(6, "wax", "way", "wbx", "wby", "wcx", "wcy")
	heal, err := inject(t.Context(), Unbalance{}, w.target())
	if err != nil {
		t.Fatal(err)
	}
	const seen = "nodes=[] pods=2 no pod left on wcx, wcy, and on the others wax=2 way=1 wbx=1 wby=2; " +
		"6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted; open again: wcx, wcy"
	if !slices.Equal(w.seen, []string{seen}) {
		t.Errorf("seen\n got %q\nwant %q", w.seen, seen)
	}
	if w.cordoned() != nil {
		t.Errorf("still cordoned: %q", w.cordoned())
	}
	if err := heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	const healed = "no node is cordoned; 6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted"
	if !slices.Equal(w.healed, []string{healed}) {
		t.Errorf("healed\n got %q\nwant %q", w.healed, healed)
	}
}

// TestUnbalanceHonoursTheBudget: it takes pods away by evictions, which wait for the budget, and no other way.
func TestUnbalanceHonoursTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6, "wax", "way", "wbx", "wby")
		w.evictable = 1
		time.AfterFunc(20*time.Second, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.evictable = 1000
		})
		began := time.Now()
		if _, err := inject(t.Context(), Unbalance{}, w.target()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 20*time.Second {
			t.Errorf("it took %s, and the budget let go after 20s", took)
		}
	})
}

// TestUnbalanceLeavesNothingClosed, whatever went wrong.
func TestUnbalanceLeavesNothingClosed(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*world)
		want  string
	}{
		"the second node cannot be closed":   {func(w *world) { w.fail("patch", "nodes", 2, 2) }, "set wcy unschedulable=true: "},
		"the first cannot be opened":         {func(w *world) { w.fail("patch", "nodes", 3, 3) }, "set wcx unschedulable=false: "},
		"pods are placed there all the same": {func(w *world) { w.stubborn = true }, "empty wcx, wcy: pod "},
		"the budget forbids it":              {func(w *world) { w.evictable = 0 }, "drain wc"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(12, "wax", "way", "wbx", "wby", "wcx", "wcy")
				test.spoil(w)
				heal, err := inject(t.Context(), Unbalance{}, w.target())
				if err == nil || !strings.HasPrefix(err.Error(), test.want) || len(w.seen) != 0 {
					t.Errorf("got %v, seen %q\nwant %s", err, w.seen, test.want)
				}
				if err := heal(t.Context()); err != nil || w.cordoned() != nil {
					t.Errorf("undo: %v, cordoned %q", err, w.cordoned())
				}
			})
		})
	}
}

// TestUnbalanceNeedsAnotherZone: with one there is nowhere to go, and without pods nothing to take away.
func TestUnbalanceNeedsAnotherZone(t *testing.T) {
	for want, w := range map[string]*world{
		"pick a zone with pods of backend: of 1 zone, 1 carry any":  newWorld(6, "wax", "way"),
		"pick a zone with pods of backend: of 2 zones, 0 carry any": newWorld(0, "wax", "wbx"),
	} {
		if _, err := inject(t.Context(), Unbalance{}, w.target()); err == nil || err.Error() != want || w.cordoned() != nil {
			t.Errorf("got %v, cordoned %q\nwant %s", err, w.cordoned(), want)
		}
	}
}
