package disturb

import "testing"

func TestNeighbours(t *testing.T) {
	unlisted := func(nodes ...string) func(*world) {
		return func(w *world) {
			w.neighbour(nodes...)
			w.Limits.Neighbours = nil
		}
	}
	refuses(t, neighbours, map[string]try{
		"on each node":                         {faults: "drain node-kill", change: unlisted("w1", "w2", "w3"), reason: "it has pods on", object: "Namespace mail"},
		"on one node: another is taken":        {faults: "drain node-kill", change: unlisted("w1")},
		"on each node, and nothing is evicted": {faults: "cordon delete-pod rollout", change: unlisted("w1", "w2", "w3")},
		"listed":                               {faults: "drain node-kill", change: func(w *world) { w.neighbour("w1", "w2", "w3") }},
	})
}

// A neighbour that comes between two looks is seen by the second.
func TestANeighbourThatCameMeanwhile(t *testing.T) {
	w := newWorld("drain")
	if p := w.plan(); p.Refused() {
		t.Fatal(p.refusals())
	}
	unlisted := w.Limits.Neighbours
	w.neighbour("w1", "w2", "w3")
	w.Limits.Neighbours = unlisted
	p := w.plan()
	if len(p.Steps[0].Refusals) == 0 || p.Steps[0].Refusals[0].Rule != neighbours.Number {
		t.Errorf("refused %+v", p.refusals())
	}
}
