package kind

import (
	"context"
	"fmt"

	"github.com/holdfast-ha/holdfast/clusters"
)

// loadShares is the weight of a node that carries load when all nodes want the processors at once; each other node has an engine's
// default of 1024. With eight nodes it gets more than half then, not an eighth: a client that waits for its turn
// sends late, and measures itself.
const loadShares = "10240"

// favourLoad lets the nodes that carry load go before all others. With the load node alone in favour, its own kube-proxy, when every
// kube-proxy was started again, kept the load workers of other nodes from sending anything for up to 368 ms.
func favourLoad(ctx context.Context, e runner, name string, spec clusters.Spec) error {
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
			return fmt.Errorf("let %s go before the other nodes: %w", m.name, err)
		}
	}
	return nil
}
