package fault

import (
	"context"
	"fmt"

	"github.com/holdfast-ha/holdfast/clusters"
)

// NodeStop shuts down a worker that carries pods of the workload and that was not drained. Its init stops every process by SIGTERM, and
// not by way of the kubelet: no preStop hook runs, no pod is deleted, and Kubernetes is not informed. Unless the kubelet is configured to
// delay shutdowns (shutdownGracePeriod, which is off by default), the node is lost. The revert starts it again, and ends when it is
// Ready and a Service is reachable through it.
//
// Source: https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/
type NodeStop struct {
	// Worker picks the n-th worker by name, from 1, whether it carries pods or not. 0 picks one that does, at random.
	Worker int
}

func (s NodeStop) String() string {
	if s.Worker > 0 {
		return fmt.Sprintf("shut down worker %d", s.Worker)
	}
	return "shut down one worker"
}

// Plan implements Fault.
func (s NodeStop) Plan(ctx context.Context, t Target) (Disruption, error) {
	node, pods, err := t.oneWorker(ctx, s.Worker)
	if err != nil {
		return nil, err
	}
	return t.failNodes(ctx, stopping, []clusters.Node{node}, pods)
}
