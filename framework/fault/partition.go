package fault

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault/node"
)

// Partition cuts a worker that carries pods of the workload off the network, or all workers of a zone off all nodes but each other. Every
// packet that crosses the node's network interface is dropped, also those of open connections. Within the node no process ends: its
// pods run, and its kubelet says that they are ready, but no other node learns of it.
//
// To Kubernetes the node is lost. Pods that are not deleted before the network is back are the same as before. Of those that are deleted
// the kubelet learns when the network is back, and ends them.
//
// The rules are a table of our own in each node's nftables, which the revert removes. A node removes them by itself after
// partitionLimit, because the harness may have been killed, and the node cannot be reached by its network. The revert ends when the
// probes pass, the nodes are Ready, and a Service is reachable through them.
//
// Source: https://kubernetes.io/docs/concepts/architecture/nodes/#node-controller
type Partition struct {
	// Worker picks the n-th worker by name, from 1, whether it carries pods or not. 0 picks one that does, at random.
	Worker int
	// Zone cuts off the zone of the one that was picked.
	Zone bool
}

const (
	// partitionLimit is when a node restores its network by itself: longer than any scenario holds, the reverts of other faults included.
	partitionLimit = 15 * time.Minute
	// cutLimit bounds how long it may take until probes see that a node is cut off, or is so no more.
	cutLimit = 30 * time.Second
	// partitionUndo names what is left on the node.
	partitionUndo = "partition"
)

func (p Partition) String() string {
	switch {
	case p.Zone:
		return "partition of one zone"
	case p.Worker > 0:
		return fmt.Sprintf("partition of worker %d", p.Worker)
	}
	return "partition of one worker"
}

// Plan implements Fault. The partition is active when a probe from another node gets no answer from the nodes, and a probe from them
// gets none from the other node, while the engine says that the nodes run and their kubelets answer probes from the nodes themselves.
func (p Partition) Plan(ctx context.Context, t Target) (Disruption, error) {
	nodes, pods, err := p.victims(ctx, t)
	if err != nil {
		return nil, err
	}
	network, err := node.NewNetwork(ctx, t.Cluster, t.Client, nodes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	c := cut{nodes, network}
	switch open, saw, err := c.network.Open(ctx); { // a node that is cut off already would be seen so whatever we do
	case err != nil:
		return nil, fmt.Errorf("%s: %w", p, err)
	case !open:
		return nil, fmt.Errorf("%s: the probes do not all pass before anything was done: %s", p, saw)
	}
	settled, _, err := t.look(ctx)
	if err != nil {
		return nil, err
	}
	return &Effect{
		Do: func(ctx context.Context) error {
			return node.OnEach(nodes, func(n clusters.Node) error { return c.drop(ctx, n) })
		},
		See: func(ctx context.Context) (bool, Observation, error) {
			closed, saw, err := c.network.Closed(ctx)
			return closed, Observation{Nodes: node.Names(nodes), Pods: pods, Witness: saw}, err
		},
		Undo:    c.revert,
		Restore: t.restored(settled, node.OfEach(nodes, nodeIsBack)),
		Until:   strings.Join(node.Names(nodes), ", ") + " to be cut off", Limit: cutLimit,
	}, nil
}

func (p Partition) victims(ctx context.Context, t Target) (nodes []clusters.Node, pods []string, err error) {
	if p.Zone {
		nodes, pods, err := ZoneOutage{}.victims(ctx, t)
		if err != nil {
			return nil, nil, err
		}
		return nodes, pods, needsMachine(nodes[0])
	}
	worker, pods, err := t.oneWorker(ctx, p.Worker)
	return []clusters.Node{worker}, pods, err
}

// faultTable is the table that faults make in a node's nftables. No other rules are touched.
const faultTable = "inet holdfast_fault"

// dropTable removes the table, if there is one.
const dropTable = "if nft list table " + faultTable + " >/dev/null 2>&1; then nft delete table " + faultTable + "; fi"

// cut is the nodes that are cut off, and how they are seen to be.
type cut struct {
	nodes   []clusters.Node
	network *node.Network
}

// ruleset drops what crosses the node's network interface, before connections are looked up, so that those that are open are
// cut, too. Peers are let through.
func (c cut) ruleset() string {
	var allow [2]string
	if len(c.network.Peers) > 0 {
		set := "{ " + strings.Join(c.network.Peers, ", ") + " }"
		allow = [2]string{"ip saddr " + set + " accept; ", "ip daddr " + set + " accept; "}
	}
	return fmt.Sprintf(`table %s {
	chain in { type filter hook prerouting priority -300; iifname "eth0" jump drop_in; }
	chain out { type filter hook postrouting priority 300; oifname "eth0" jump drop_out; }
	chain drop_in { %scounter drop; }
	chain drop_out { %scounter drop; }
}
`, faultTable, allow[0], allow[1])
}

// nftScript reads a ruleset, $1.
const nftScript = `printf %s "$1" | nft -f -`

// drop puts the rules in place, once the node knows how to do without them.
func (c cut) drop(ctx context.Context, n clusters.Node) error {
	if err := node.LeaveUndo(ctx, n, partitionUndo, dropTable, partitionLimit); err != nil {
		return err
	}
	if _, err := n.Exec(ctx, "sh", "-c", nftScript, "cut", c.ruleset()); err != nil {
		return fmt.Errorf("cut %s off: %w", n.Name(), err)
	}
	return nil
}

// revert removes the rules, and waits for the network and then for the nodes. A node that fails must not keep the others cut off.
func (c cut) revert(ctx context.Context) error {
	if err := node.OnEach(c.nodes, func(n clusters.Node) error { return node.RunUndo(ctx, n, partitionUndo) }); err != nil {
		return err
	}
	err := poll.Until(ctx, strings.Join(node.Names(c.nodes), ", ")+" to be reached again", cutLimit, c.network.Open)
	if err != nil {
		return err
	}
	return node.OnEach(c.nodes, func(n clusters.Node) error { return seeStarted(ctx, n) })
}
