package kind

import (
	"context"
	"fmt"

	"github.com/holdfast-ha/holdfast/clusters"
)

// loadShares is the CPU weight of a node that carries load when all nodes compete for CPU. The other nodes have the engine's default
// of 1024. With eight nodes the load node gets more than half instead of an eighth: a client that waits for CPU sends late, and
// would measure its own delay.
const loadShares = "10240"

// controlPlaneShares is the CPU weight of a control plane node. On other clusters the control plane has machines of its own. With the
// default it had an eighth of two cores, and while 100 pods were replaced, its watches delivered changes up to 1.4 s late.
const controlPlaneShares = "4096"

// prioritize gives the nodes that carry load, and the control plane, CPU priority over all other nodes. When only the load node had it and every kube-proxy
// restarted, the load node's kube-proxy kept the load workers of other nodes from sending for up to 368 ms.
func prioritize(ctx context.Context, e runner, name string, spec clusters.Spec) error {
	ctx, cancel := context.WithTimeout(ctx, actWithin)
	defer cancel()
	workers := 0
	for _, m := range members(name, spec) {
		if m.role == clusters.Worker {
			workers++
		}
		var shares string
		switch {
		case m.role == clusters.ControlPlane:
			shares = controlPlaneShares
		case m.role == clusters.LoadNode, m.role == clusters.Worker && workers <= spec.LoadOnWorkers:
			shares = loadShares
		default:
			continue
		}
		if _, err := e.Output(ctx, "update", "--cpu-shares", shares, m.name); err != nil {
			return fmt.Errorf("raise the CPU shares of %s: %w", m.name, err)
		}
	}
	return nil
}
