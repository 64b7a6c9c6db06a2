package fault

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-ha/holdfast/clusters"
)

// ControlPlaneKill ends the control-plane node whose member of etcd leads, in the way of NodeKill: its API server, its
// controllers and its member of etcd are gone at once, and the worst one to lose is taken. From before that until it is back the
// API server is asked, through the balancer that stands before several control planes and at the address of each one
// that is left, and what was seen is recorded, way by way. The undo starts the node again.
//
// Sources: https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/ha-topology/,
// https://etcd.io/docs/latest/faq/#what-is-failure-tolerance
type ControlPlaneKill struct{}

func (ControlPlaneKill) String() string { return "kill the control plane that leads etcd" }

// ControlPlanes is how many a cluster must have at least: of one alone nothing would be left to ask.
func (ControlPlaneKill) ControlPlanes() int { return leastPlanes }

// Inject implements Fault. It returns when the engine says the machine is gone and its kubelet has fallen silent.
func (ControlPlaneKill) Inject(ctx context.Context, t Target) (Heal, error) {
	leader, others, _, err := t.etcdLeader(ctx)
	if err != nil {
		return nothing, err
	}
	asked, err := t.reach(ctx, others)
	if err != nil {
		return nothing, errors.Join(err, asked.stop(ctx))
	}
	heal, err := t.takeAway(ctx, killing, []clusters.Node{leader}, nil)
	return once(func(ctx context.Context) error {
		asked.returns(ctx)
		return errors.Join(heal(ctx), t.reached(ctx, asked))
	}), err
}

// reached ends a probe and writes down what it has seen.
func (t Target) reached(ctx context.Context, asked *reaching) error {
	seen, err := asked.end(ctx)
	for _, how := range seen {
		t.Record.Reached(how)
	}
	if err != nil {
		return fmt.Errorf("see how the API server was reached: %w", err)
	}
	return nil
}
