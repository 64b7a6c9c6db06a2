package fault

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault/node"
	"github.com/holdfast-ha/holdfast/framework/history"
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

// Plan implements Fault.
func (ControlPlaneKill) Plan(ctx context.Context, t Target) (Disruption, error) {
	leader, others, _, err := t.etcdLeader(ctx)
	if err != nil {
		return nil, err
	}
	d, err := t.failNodes(ctx, killing, []clusters.Node{leader}, nil)
	if err != nil {
		return nil, err
	}
	return t.probed(d, others), nil
}

// probed has the API server asked while an Effect is in force: from before it is applied until its revert has ended.
func (t Target) probed(e *Effect, planes []clusters.Node) *Effect {
	var probe *node.APIProbe
	apply, revert := e.Do, e.Undo
	e.Do = func(ctx context.Context) error {
		begun, err := node.ProbeAPI(ctx, t.Cluster, t.Client, planes)
		if err != nil {
			return errors.Join(err, begun.Stop(ctx))
		}
		probe = begun
		return apply(ctx)
	}
	e.Undo = func(ctx context.Context) error {
		if probe == nil {
			return nil // nothing else was done either
		}
		probe.Returns(ctx)
		return run(ctx, revert)
	}
	e.Finally = func(ctx context.Context) error {
		if probe == nil {
			return nil
		}
		seen, err := probe.End(ctx)
		for i := range seen {
			t.Record.Note(history.Event{Reach: &seen[i]})
		}
		if err != nil {
			return fmt.Errorf("see how the API server was reached: %w", err)
		}
		return nil
	}
	return e
}
