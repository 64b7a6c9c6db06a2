package invariant_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
)

// source names the thing that an event tells of. What is told of one thing keeps its order; of different things, each
// by a connection of its own, it may be stored in any order.
func source(e history.Event) string {
	switch {
	case e.Header != nil:
		return "header"
	case e.Phase != nil:
		return "phases"
	case e.Fault != nil:
		return "fault " + e.Fault.Name
	case e.Pod != nil:
		return "pod " + e.Pod.UID
	case e.Node != nil:
		return "node " + e.Node.Name
	case e.Workload != nil:
		return "workload " + e.Workload.Name
	case e.Slice != nil:
		return "slice " + e.Slice.Name
	case e.Budget != nil:
		return "budget " + e.Budget.Name
	case e.Eviction != nil:
		return "eviction " + e.Eviction.Pod
	case e.Admission != nil:
		return "admission " + e.Admission.Kind + " " + e.Admission.Name
	case e.Clock != nil:
		return "clock " + e.Clock.Worker
	case e.Load != nil:
		return "load " + e.Load.Worker + string(e.Load.Lane)
	}
	return "the harness"
}

// shuffleTies stores events of the same moment in another order.
func shuffleTies(random *rand.Rand, events []history.Event) []history.Event {
	var out []history.Event
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].T == events[0].T {
			n++
		}
		out = append(out, interleave(random, events[:n])...)
		events = events[n:]
	}
	return out
}

// interleave keeps the order of what comes from one source.
func interleave(random *rand.Rand, tied []history.Event) []history.Event {
	queues := make(map[string][]history.Event)
	var order []string // which source is next: as many times as it has events
	for _, e := range tied {
		queues[source(e)] = append(queues[source(e)], e)
		order = append(order, source(e))
	}
	random.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
	out := make([]history.Event, len(order))
	for i, from := range order {
		out[i], queues[from] = queues[from][0], queues[from][1:]
	}
	return out
}

// TestTiesDoNotMatter: streams write to the record side by side, so what happened at one moment lies there in any order.
func TestTiesDoNotMatter(t *testing.T) {
	twoFaults := thin(failVictims(killed(), history.LaneFresh, 16*second, 17*second))
	for i, stage := range []history.FaultStage{history.Injecting, history.Seen, history.Healing, history.Healed} {
		at := []history.Offset{killAt, deadAt, healAt, healAt + 2*second}[i]
		twoFaults.Fault(at, history.FaultMark{ID: 1, Name: "kill another", Stage: stage, Nodes: []string{"w4"}})
	}
	crowded := newStepped().to("w1", "w3").to("w1", "w2", "w3").node("w1", "Unknown", false).to("w2", "w3", "w5").second()
	crowded.EditEvents(func(e *history.Event) { e.T = e.T.Round(second) }) // much happens at once
	placed := newPlacing(spreadOver(overZones, "")).bind("w1", "w2", "w3").bind("w4", "w1").terminate(1, "w1").change("w5", func(n *history.Node) {
		n.Unschedulable = true
	}).bind("w5")
	placed.EditEvents(func(e *history.Event) { e.T = e.T.Round(3 * second) })
	spared := history.Admission{Against: "zones", Accepted: true}
	for name, whole := range map[string]history.Run{
		"answers at once": enforced().Admission(40300*ms, but(spared, func(a *history.Admission) { a.Name = "b" })).
			Admission(40300*ms, but(spared, func(a *history.Admission) { a.Name = "a" })).Run(),
		"bindings":              placed.Run(),
		"a drain":               thin(ht.Healthy()).Run(),
		"two faults at once":    twoFaults.Run(),
		"two evictions at once": thin(refuse(evict(ht.Healthy(), 2, ht.EvictedAt), 3, ht.EvictedAt, "backend")).Run(),
		"three evictions":       thin(evict(evict(ht.Healthy(), 2, 26*second), 3, 26*second)).Run(),
		"a crowded record":      crowded.Run(),
		"two workloads":         thin(ht.Healthy()).Workload(3*second, history.Workload{Name: "gateway"}).Run(),
	} {
		t.Run(name, func(t *testing.T) {
			want := judge.CheckAll(whole, strict())
			for seed := range uint64(40) {
				run := whole
				run.Events = shuffleTies(rand.New(rand.NewPCG(seed, 1)), slices.Clone(whole.Events))
				if diff := gocmp.Diff(want, judge.CheckAll(run, strict())); diff != "" {
					t.Fatalf("seed %d (-as it was +stored otherwise):\n%s", seed, diff)
				}
			}
		})
	}
}
