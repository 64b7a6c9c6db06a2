package fault

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
)

// What a fault does where all workers are simulated.
const (
	works            = "" // it is planned
	needsMachineHere = "a fault of a machine is not supported here: w2: a simulated node has no machine"
	needsItsMachine  = "a fault of a machine is not supported here: w" // that of the pod that was drawn
	needsRealWorker  = "no worker 2: cluster fleet has 0 workers"      // it names a worker by its number, and only real ones have numbers
	needsZones       = "of 0 zones, 0 carry any"
)

// onSimulated is what each fault does where all workers are simulated, by its type. The NotSupported of a fault that needs a machine makes the
// scenario not supported; any other error makes it fail, so a fault that works must not need a machine by accident.
var onSimulated = map[string]string{
	"Autoscale": works, "AutoscaleVertically": works, "BadRollout": works, "Drain": works, "Evict": works, "NodeKill": works, "PodDelete": works,
	"Resize": works, "Rollout": works, "Scale": works, "TryDrain": works, "TryRollout": works, "ZoneOutage": works,
	// Those of the control plane, which is real.
	"ControlPlaneKill": works, "EtcdLeaderKill": works, "UpgradeControlPlane": works, "UpgradeWorkers": works,
	"ComponentAway": needsMachineHere, "ComponentKill": needsMachineHere, "FillNode": needsMachineHere, "KillContainer": needsItsMachine,
	"ConfigChange": works, // one that is rolled out
	"Latency":      needsMachineHere, "NodePause": needsMachineHere,
	"NodePressure": needsMachineHere, "NodeStop": needsMachineHere, "PacketLoss": needsMachineHere, "Partition": needsMachineHere,
	"Unbalance": needsZones,
}

// wantOnSimulated is what a fault does where all workers are simulated.
func wantOnSimulated(t *testing.T, f Fault) string {
	kind := strings.TrimPrefix(fmt.Sprintf("%T", f), "fault.")
	want, is := onSimulated[kind]
	if !is {
		t.Fatalf("fault %s: say in onSimulated what it does on simulated nodes", kind)
	}
	switch f := f.(type) {
	case ConfigChange:
		if !f.Config.Rolls() {
			return needsItsMachine
		}
	case ComponentAway:
		if f.Component == Scheduler {
			return works
		}
	case NodeKill:
		return unlessNumbered(f.Worker, want)
	case NodePause:
		return unlessNumbered(f.Worker, want)
	case NodePressure:
		return unlessNumbered(f.Worker, want)
	case NodeStop:
		return unlessNumbered(f.Worker, want)
	case Partition:
		return unlessNumbered(f.Worker, want)
	}
	return want
}

// unlessNumbered is what a fault does that names no worker by its number.
func unlessNumbered(worker int, otherwise string) string {
	if worker > 0 {
		return needsRealWorker
	}
	return otherwise
}

// simulate makes all workers of a world simulated.
func (w *world) simulate() {
	for _, n := range w.nodes {
		if m := n.(*machine); m.Role() == clusters.Worker {
			m.role = clusters.Simulated
		}
	}
}

func TestFaultsOnSimulatedNodes(t *testing.T) {
	for _, f := range Examples() {
		t.Run(f.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, target := worldFor(t, f)
				w.simulate()
				want := wantOnSimulated(t, f)
				_, err := Plan(t.Context(), f, target)
				errtest.Check(t, err, want)
				if not := (*NotSupported)(nil); errors.As(err, &not) != (want == needsMachineHere || want == needsItsMachine) {
					t.Errorf("%v is a NotSupported: %t", err, want != needsMachineHere)
				}
			})
		})
	}
}

// TestRealNodesBesideSimulatedOnesTakeFaults: needsMachine asks the node that is hit, and not the cluster.
func TestRealNodesBesideSimulatedOnesTakeFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6, "w1", "w2", "w3")
		w.nodes[0].(*machine).role = clusters.Simulated
		_, err := Plan(t.Context(), NodePause{Worker: 1}, w.target()) // w2, the first real one
		errtest.Check(t, err, "")
	})
}

// TestTheLossOfSimulatedNodesIsWitnessedByLeases, of which the words must say that no machine was lost; and it is reverted.
func TestTheLossOfSimulatedNodesIsWitnessedByLeases(t *testing.T) {
	for _, f := range []Fault{NodeKill{}, ZoneOutage{}} {
		synctest.Test(t, func(t *testing.T) {
			w := zoned()
			w.simulate()
			heal, err := inject(t.Context(), f, w.target())
			errtest.Check(t, err, "")
			if len(w.seen) != 1 || !strings.Contains(w.seen[0], "simulated: the leases of ") {
				t.Errorf("%s: seen %q", f, w.seen)
			}
			errtest.Check(t, heal(t.Context()), "")
			if len(w.healed) != 1 || !strings.Contains(w.healed[0], "simulated: the leases of ") {
				t.Errorf("%s: healed %q", f, w.healed)
			}
			for i, state := range w.states() {
				if state != clusters.Running {
					t.Errorf("%s: %s is %s in the end", f, w.nodes[i].Name(), state)
				}
			}
		})
	}
}
