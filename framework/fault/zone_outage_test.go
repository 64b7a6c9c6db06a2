package fault

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/holdfast-ha/holdfast/clusters"
)

// zoned is a workload of six on four workers, of which two and two are of a zone; the load node is in one as well.
func zoned() *world {
	w := newWorld(6, "w1", "w2", "w3", "w4", "load")
	for i, zone := range []string{"a", "a", "b", "b", "a"} {
		w.nodes[i].(*machine).zone = zone
	}
	w.nodes[4].(*machine).role = clusters.LoadNode
	return w
}

func (w *world) states() (all []clusters.NodeState) {
	for _, n := range w.nodes {
		all = append(all, n.(*machine).state)
	}
	return all
}

// TestAZoneOutageTakesAllWorkersOfOneZone, those without pods too, and nothing else; and gives all of them back.
func TestAZoneOutageTakesAllWorkersOfOneZone(t *testing.T) {
	const up, down = clusters.Running, clusters.Exited
	for zone, s := range map[string]struct {
		seen, healed string
		states       []clusters.NodeState
	}{
		"a": {
			"nodes=[w1 w2] pods=2 the engine says w1 has exited, and its kubelet port is silent; " +
				"the engine says w2 has exited, and its kubelet port is silent",
			"w1 is Ready and reaches a Service; w2 is Ready and reaches a Service; 6 pods exist",
			[]clusters.NodeState{down, down, up, up, up},
		},
		"b": {
			"nodes=[w3 w4] pods=2 the engine says w3 has exited, and its kubelet port is silent; " +
				"the engine says w4 has exited, and its kubelet port is silent",
			"w3 is Ready and reaches a Service; w4 is Ready and reaches a Service; 6 pods exist",
			[]clusters.NodeState{up, up, down, down, up},
		},
	} {
		t.Run(zone, func(t *testing.T) {
			w := zoned()
			target := w.target()
			for seed := uint64(0); ; seed++ { // until it picks this zone
				target.Rand = rand.New(rand.NewPCG(seed, 1))
				nodes, _, err := ZoneOutage{}.victims(t.Context(), target)
				if err != nil {
					t.Fatal(err)
				}
				if nodes[0].Zone() == zone {
					target.Rand = rand.New(rand.NewPCG(seed, 1))
					break
				}
			}
			heal, err := inject(t.Context(), ZoneOutage{}, target)
			if err != nil {
				t.Fatal(err)
			}
			if len(w.seen) != 1 || w.seen[0] != strings.Replace(s.seen, "pods=2", podsOn(t, w, zone), 1) {
				t.Errorf("seen\n got %q\nwant %q", w.seen, s.seen)
			}
			if got := w.states(); !slices.Equal(got, s.states) {
				t.Errorf("machines are %v, want %v", got, s.states)
			}
			if err := heal(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(w.healed) != 1 || !strings.HasPrefix(w.healed[0], s.healed) || slices.Contains(w.states(), down) {
				t.Errorf("healed %q, machines are %v", w.healed, w.states())
			}
		})
	}
}

// podsOn counts the pods on the workers of a zone as the record has it.
func podsOn(t *testing.T, w *world, zone string) string {
	t.Helper()
	pods, _ := w.target().pods(t.Context())
	n := 0
	for _, p := range pods {
		for _, node := range w.nodes {
			if m := node.(*machine); m.name == p.Spec.NodeName && m.zone == zone && m.role != clusters.LoadNode {
				n++
			}
		}
	}
	return "pods=" + string(rune('0'+n))
}

// TestOneMachineThatLivesIsNoOutage: every machine of the zone must have been seen dead.
func TestOneMachineThatLivesIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := zoned()
		w.nodes[1].(*machine).talks, w.nodes[3].(*machine).talks = true, true
		heal, err := inject(t.Context(), ZoneOutage{}, w.target())
		if err == nil || !strings.Contains(err.Error(), "to be dead: last seen w4: state exited, kubelet port silent: false") || len(w.seen) != 0 {
			t.Errorf("got %v, seen %q", err, w.seen)
		}
		if err := heal(t.Context()); err != nil || slices.Contains(w.states(), clusters.Exited) {
			t.Errorf("undo: %v, machines are %v", err, w.states())
		}
	})
}

// TestAnUndoOfAnOutageStartsAllItCan: one machine that cannot be started does not keep the other down.
func TestAnUndoOfAnOutageStartsAllItCan(t *testing.T) {
	w := zoned()
	heal, err := inject(t.Context(), ZoneOutage{}, w.target())
	if err != nil {
		t.Fatal(err)
	}
	first := slices.Index(w.states(), clusters.Exited)
	w.nodes[first].(*machine).err = errors.New("no such container")
	want := "start " + w.nodes[first].Name() + ": no such container"
	if err := heal(t.Context()); err == nil || err.Error() != want || len(w.healed) != 0 {
		t.Errorf("got %v, healed %q, want %s", err, w.healed, want)
	}
	if other := w.nodes[first+1].(*machine); other.starts != 1 {
		t.Errorf("%s was started %d times", other.name, other.starts)
	}
}

// TestAWorkerInNoZoneHasNoOutage.
func TestAWorkerInNoZoneHasNoOutage(t *testing.T) {
	w := newWorld(2, "w1")
	w.nodes[0].(*machine).zone = ""
	const want = "pick a zone of fleet: worker w1 is in none"
	if _, err := inject(t.Context(), ZoneOutage{}, w.target()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
