package fault

import (
	"context"
	"fmt"

	"github.com/holdfast-ha/holdfast/clusters"
)

// NodeKill ends a worker that carries pods of the workload abruptly: SIGKILL to every process on it, as when its machine crashes, except
// that the kernel closes open connections. The revert starts the node again, and ends when it is Ready and a Service is reachable
// through it.
//
// Source: https://kubernetes.io/docs/concepts/architecture/nodes/#node-controller
type NodeKill struct {
	// Worker picks the n-th worker by name, from 1, whether it carries pods or not. 0 picks one that does, at random.
	Worker int
}

func (k NodeKill) String() string {
	if k.Worker > 0 {
		return fmt.Sprintf("kill worker %d", k.Worker)
	}
	return "kill one worker"
}

// Plan implements Fault.
func (k NodeKill) Plan(ctx context.Context, t Target) (Disruption, error) {
	node, pods, err := t.oneNode(ctx, k.Worker)
	if err != nil {
		return nil, err
	}
	return t.failNodes(ctx, killing, []clusters.Node{node}, pods)
}
