package kind

import (
	"context"
	"fmt"

	"github.com/holdfast-ha/holdfast/clusters"
)

// loadShares is the CPU weight of the load node when all nodes compete for CPU. The other nodes have the engine's default of
// 1024. With eight nodes the load node gets more than half instead of an eighth: a client that waits for CPU sends late, and
// would measure its own delay.
const loadShares = "10240"

// favourLoad gives the load node CPU priority over all other nodes.
func favourLoad(ctx context.Context, e runner, name string, spec clusters.Spec) error {
	ctx, cancel := context.WithTimeout(ctx, actWithin)
	defer cancel()
	for _, m := range members(name, spec) {
		if m.role != clusters.LoadNode {
			continue
		}
		if _, err := e.Output(ctx, "update", "--cpu-shares", loadShares, m.name); err != nil {
			return fmt.Errorf("raise the CPU shares of %s: %w", m.name, err)
		}
	}
	return nil
}
