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

// prioritizeLoad gives the nodes that carry load CPU priority over all other nodes. When only the load node had it and every kube-proxy
// restarted, the load node's kube-proxy kept the load workers of other nodes from sending for up to 368 ms.
func prioritizeLoad(ctx context.Context, e runner, name string, spec clusters.Spec) error {
	ctx, cancel := context.WithTimeout(ctx, actWithin)
	defer cancel()
	workers := 0
	for _, m := range members(name, spec) {
		if m.role == clusters.Worker {
			workers++
		}
		if m.role != clusters.LoadNode && (m.role != clusters.Worker || workers > spec.LoadOnWorkers) {
			continue
		}
		if _, err := e.Output(ctx, "update", "--cpu-shares", loadShares, m.name); err != nil {
			return fmt.Errorf("raise the CPU shares of %s: %w", m.name, err)
		}
	}
	return nil
}
