package spread

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
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
		got := NewPlacer("zone").Place(state, history.Workload{NodeSelector: tt.selector, Replicas: 1}, []history.Pod{{Name: "p", Node: tt.node}})
		if !maps.Equal(got.Counts, tt.want) || got.Outside != 0 {
			t.Errorf("%s: %v and %d outside, want %v", name, got.Counts, got.Outside, tt.want)
		}
	}
}

// A placer that follows the changes of nodes counts like one that looks at all nodes now, also when the workload chooses other nodes, and
// when it is asked after several changes at once.
func TestPlacerFollows(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 7))
		state, follows := history.NewState(), NewPlacer("zone")
		w := history.Workload{Replicas: 4}
		for step := range 400 {
			state.Apply(history.Event{Node: randomNode(random)})
			if random.IntN(20) == 0 {
				w.NodeSelector = map[string]string{"pool": string(rune('a' + random.IntN(2)))}
			}
			if random.IntN(3) == 0 {
				continue
			}
			var pods []history.Pod
			for i := range w.Replicas {
				pods = append(pods, history.Pod{Name: fmt.Sprint(i), Node: nodeName(random)})
			}
			got, want := follows.Place(state, w, pods), NewPlacer("zone").Place(state, w, pods)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, step %d: %s, and without what was known before: %s", seed, step, got, want)
			}
		}
	}
}

func nodeName(random *rand.Rand) string { return fmt.Sprintf("w%d", random.IntN(9)) }

func randomNode(random *rand.Rand) *history.Node {
	n := &history.Node{Name: nodeName(random), Ready: "True", Labels: map[string]string{"pool": string(rune('a' + random.IntN(2)))}}
	if random.IntN(6) > 0 {
		n.Labels["zone"] = string(rune('a' + random.IntN(4)))
	}
	switch random.IntN(8) {
	case 0:
		n.Ready = "Unknown"
	case 1:
		n.Unschedulable = true
	case 2:
		n.Taints = []string{"gpu=yes:NoSchedule"}
	case 3:
		n.Change = history.Deleted
	}
	return n
}
