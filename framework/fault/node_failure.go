package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault/node"
)

// killLimit bounds how long a node may take to be seen dead or paused. On a machine that is not starved it happens at once.
const killLimit = 30 * time.Second

// A nodeFailure is a way to make nodes fail, and to bring them back.
type nodeFailure struct {
	verb, is, are string // "kill", "dead", and in a witness's words: "has exited"
	fail, start   func(clusters.Node, context.Context) error
	starts        string // what start is called
	state         clusters.NodeState
}

var (
	killing  = nodeFailure{"kill", "dead", "has exited", clusters.Node.Kill, clusters.Node.Start, "start", clusters.Exited}
	stopping = nodeFailure{"stop", "off", "has exited", clusters.Node.Stop, clusters.Node.Start, "start", clusters.Exited}
	freezing = nodeFailure{"freeze", "frozen", "is paused", clusters.Node.Pause, clusters.Node.Resume, "unpause", clusters.Paused}
)

// failNodes plans to make nodes fail at the same time. Each has failed when the engine says so and its kubelet has fallen silent. The
// revert brings all of them back, and ends when they are Ready and the workload has settled. If the workload was not settled before,
// another fault keeps it from that, and is reverted later.
func (t Target) failNodes(ctx context.Context, by nodeFailure, nodes []clusters.Node, pods []string) (*Effect, error) {
	settled, _, err := t.look(ctx)
	if err != nil {
		return nil, err
	}
	err = node.OnEach(nodes, func(n clusters.Node) error { // a node that has failed already would be seen so whatever we do
		is, saw, err := by.done(ctx, n)
		if err == nil && is {
			err = fmt.Errorf("node is %s already: %s", by.is, saw)
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", by.verb, n.Name(), err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &Effect{
		Do: func(ctx context.Context) error {
			return node.OnEach(nodes, func(n clusters.Node) error {
				if err := by.fail(n, ctx); err != nil {
					return fmt.Errorf("%s %s: %w", by.verb, n.Name(), err)
				}
				return nil
			})
		},
		See: func(ctx context.Context) (bool, Observation, error) {
			active, saw, err := by.allDone(ctx, nodes)
			if active {
				saw = by.witnessed(nodes)
			}
			return active, Observation{Nodes: node.Names(nodes), Pods: pods, Witness: saw}, err
		},
		Ask: func(ctx context.Context) (bool, string, error) { return by.allDone(ctx, nodes) },
		// One node that does not come back must not keep the others away.
		Undo: func(ctx context.Context) error {
			return node.OnEach(nodes, func(n clusters.Node) error { return by.revert(ctx, n) })
		},
		Restore: t.restored(settled, back(nodes)),
		Until:   "node " + named(nodes) + " to be " + by.is, Limit: killLimit,
	}, nil
}

// nodeIsBack is what a witness says of a node that was started: Node.Start waits for both.
const nodeIsBack = "%s is Ready and reaches a Service"

// manyNodes is from how many on nodes are counted, and not named, in a witness's words.
const manyNodes = 20

// named names nodes, or counts them.
func named(nodes []clusters.Node) string {
	if len(nodes) < manyNodes {
		return strings.Join(node.Names(nodes), ", ")
	}
	return fmt.Sprintf("%s and %d others", nodes[0].Name(), len(nodes)-1)
}

// simulated reports whether nodes are simulated. The nodes of a zone are either all simulated or all real.
func simulated(nodes []clusters.Node) bool {
	return slices.ContainsFunc(nodes, func(n clusters.Node) bool { return n.Role() == clusters.Simulated })
}

// witnessed is what the witnesses of nodes that have failed say. Of a simulated node the lease is the witness.
func (by nodeFailure) witnessed(nodes []clusters.Node) string {
	if simulated(nodes) {
		return "simulated: the leases of " + named(nodes) + " are no longer renewed"
	}
	return node.OfEach(nodes, "the engine says %s "+by.are+", and its kubelet port is silent")
}

// back is what the witnesses of nodes that have come back say.
func back(nodes []clusters.Node) string {
	if simulated(nodes) {
		return "simulated: the leases of " + named(nodes) + " are renewed, and the nodes are Ready"
	}
	return node.OfEach(nodes, nodeIsBack)
}

// revert brings a node back. Unlike Start, Resume does not wait until the node is Ready: Start on a node that runs does.
func (by nodeFailure) revert(ctx context.Context, n clusters.Node) error {
	if err := by.start(n, ctx); err != nil {
		return fmt.Errorf("%s %s: %w", by.starts, n.Name(), err)
	}
	if by.state != clusters.Paused {
		return nil
	}
	return seeStarted(ctx, n)
}

// seeStarted waits until a node that runs is Ready and reaches a Service.
func seeStarted(ctx context.Context, n clusters.Node) error {
	if err := n.Start(ctx); err != nil {
		return fmt.Errorf("wait for %s to be Ready: %w", n.Name(), err)
	}
	return nil
}

// allDone asks both witnesses of every node.
func (by nodeFailure) allDone(ctx context.Context, nodes []clusters.Node) (bool, string, error) {
	for _, n := range nodes {
		if is, saw, err := by.done(ctx, n); err != nil || !is {
			if len(nodes) > 1 {
				saw = n.Name() + ": " + saw
			}
			return false, saw, err
		}
	}
	if simulated(nodes) {
		return true, "the leases of " + named(nodes) + " are not renewed", nil
	}
	return true, node.OfEach(nodes, "%s is "+by.is), nil
}

// done asks the engine and the kubelet's port.
func (by nodeFailure) done(ctx context.Context, node clusters.Node) (bool, string, error) {
	state, err := node.State(ctx)
	if err != nil {
		return false, "", err
	}
	silent, err := node.Silent(ctx)
	if err != nil {
		return false, "", err
	}
	if node.Role() == clusters.Simulated {
		return state == by.state && silent, fmt.Sprintf("state %s, lease overdue: %t", state, silent), nil
	}
	return state == by.state && silent, fmt.Sprintf("state %s, kubelet port silent: %t", state, silent), nil
}
