package fault

import (
	"context"
	"fmt"

	"github.com/holdfast-ha/holdfast/clusters"
)

// NodePause freezes a worker that carries pods of the workload, as when a machine hangs: no process ends and none continues. The kernel
// still accepts connections, but no process answers, so that a client learns nothing before its own time-out. A dead machine would have
// refused the connection sooner.
//
// To Kubernetes the node is lost: its pods are offered until its kubelet has been silent for the grace period. Then they are deleted, and
// the kubelet learns that only when the node is unpaused. Pods that were not deleted by then are the same as before. The revert unpauses
// the node, and ends when it is Ready and a Service is reachable through it.
//
// Source: https://kubernetes.io/docs/concepts/architecture/nodes/#node-controller
type NodePause struct {
	// Worker picks the n-th worker by name, from 1, whether it carries pods or not. 0 picks one that does, at random.
	Worker int
}

func (p NodePause) String() string {
	if p.Worker > 0 {
		return fmt.Sprintf("freeze worker %d", p.Worker)
	}
	return "freeze one worker"
}

// Plan implements Fault.
func (p NodePause) Plan(ctx context.Context, t Target) (Disruption, error) {
	node, pods, err := t.oneWorker(ctx, p.Worker)
	if err != nil {
		return nil, err
	}
	return t.failNodes(ctx, freezing, []clusters.Node{node}, pods)
}
