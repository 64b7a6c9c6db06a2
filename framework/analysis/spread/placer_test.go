package spread

import (
	"maps"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// A simulated zone is a domain of the workloads that are there, and of no other.
func TestSimulatedZones(t *testing.T) {
	state := history.NewState()
	for name, labels := range map[string]map[string]string{
		"w1":        {"zone": "a"},
		"sim-00000": {"zone": "sim-a", roleLabel: simulated},
		"sim-00001": {"zone": "sim-b", roleLabel: simulated},
	} {
		n := history.Node{Name: name, Labels: labels, Ready: "True"}
		if labels[roleLabel] == simulated {
			n.Taints = []string{simulatedTaint}
		}
		state.Apply(history.Event{Node: &n})
	}
	for name, tt := range map[string]struct {
		selector map[string]string
		node     string
		want     map[string]int
	}{
		"on real nodes":      {nil, "w1", map[string]int{"a": 1}},
		"on simulated nodes": {map[string]string{roleLabel: simulated}, "sim-00001", map[string]int{"sim-a": 0, "sim-b": 1}},
	} {
		got := Place(state, history.Workload{NodeSelector: tt.selector, Replicas: 1}, []history.Pod{{Name: "p", Node: tt.node}}, "zone")
		if !maps.Equal(got.Counts, tt.want) || got.Outside != 0 {
			t.Errorf("%s: %v and %d outside, want %v", name, got.Counts, got.Outside, tt.want)
		}
	}
}
