package fault

import (
	"context"
	"fmt"

	"github.com/holdfast-ha/holdfast/clusters"
)

// NodePause freezes a worker that carries pods of the workload: a machine that hangs. Nothing on it ends, and nothing on it
// goes on. Its kernel still takes connections, which nobody answers, so that who asks it learns nothing before his own time
// is out; a dead machine would have told him sooner.
//
// To Kubernetes it is a lost node: its pods are offered until its kubelet has been silent for the grace period, and are then
// deleted, which its kubelet will hear of only when it is thawed. Pods that were not deleted by then are the same as before.
// The undo thaws it, and returns when it is Ready and a Service is reachable through it.
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
