package kind

import (
	"context"
	"fmt"

	"github.com/holdfast-ha/holdfast/clusters"
)

// loadShares is the load node's weight when all nodes want the processors at once; each other node has an engine's
// default of 1024. With eight nodes it gets more than half then, not an eighth: a client that waits for its turn
// sends late, and measures itself.
const loadShares = "10240"

// favourLoad lets the node that carries the load go before all others.
func favourLoad(ctx context.Context, e runner, name string, spec clusters.Spec) error {
	ctx, cancel := context.WithTimeout(ctx, actWithin)
	defer cancel()
	for _, m := range members(name, spec) {
		if m.role != clusters.LoadNode {
			continue
		}
		if _, err := e.Output(ctx, "update", "--cpu-shares", loadShares, m.name); err != nil {
			return fmt.Errorf("let %s go before the other nodes: %w", m.name, err)
		}
	}
	return nil
}
