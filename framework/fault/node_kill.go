package fault

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/poll"
)

// killLimit bounds how long a killed machine may take to be seen dead: it is at once, on a machine that is not starved.
const killLimit = 30 * time.Second

// NodeKill ends a worker that carries pods of the workload abruptly: SIGKILL to everything on it, as when its machine
// crashes, except that open connections are closed by the kernel. The undo starts it again and returns
// when it is Ready and a Service is reachable through it.
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

// Inject implements Fault. It returns when the engine says the machine is gone and its kubelet has fallen silent.
func (k NodeKill) Inject(ctx context.Context, t Target) (Heal, error) {
	node, pods, err := k.victim(ctx, t)
	if err != nil {
		return nothing, err
	}
	heal := once(func(ctx context.Context) error {
		if err := node.Start(ctx); err != nil {
			return fmt.Errorf("start %s: %w", node.Name(), err)
		}
		witness, err := t.Settle(ctx)
		if err == nil {
			t.Record.Healed(node.Name() + " is Ready and reaches a Service; " + witness)
		}
		return err
	})
	if err := node.Kill(ctx); err != nil {
		return heal, fmt.Errorf("kill %s: %w", node.Name(), err)
	}
	err = poll.Until(ctx, "node "+node.Name()+" to be dead", killLimit, func(ctx context.Context) (bool, string, error) {
		return dead(ctx, node)
	})
	if err != nil {
		return heal, err
	}
	t.Record.Seen([]string{node.Name()}, pods, "the engine says "+node.Name()+" has exited, and its kubelet port is silent")
	return heal, nil
}

func (k NodeKill) victim(ctx context.Context, t Target) (clusters.Node, []string, error) {
	if k.Worker > 0 {
		return t.worker(ctx, k.Worker)
	}
	nodes, pods, err := t.victims(ctx, 1)
	if err != nil {
		return nil, nil, err
	}
	return nodes[0], pods, nil
}

// dead asks both witnesses.
func dead(ctx context.Context, node clusters.Node) (bool, string, error) {
	state, err := node.State(ctx)
	if err != nil {
		return false, "", err
	}
	silent, err := node.Silent(ctx)
	if err != nil {
		return false, "", err
	}
	return state == clusters.Exited && silent, fmt.Sprintf("state %s, kubelet port silent: %t", state, silent), nil
}
