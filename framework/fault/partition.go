package fault

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault/node"
	"github.com/holdfast-ha/holdfast/framework/poll"
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
	c, err := t.cut(ctx, nodes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	switch open, saw, err := c.open(ctx); { // a node that is cut off already would be seen so whatever we do
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
			closed, saw, err := c.closed(ctx)
			return closed, Observation{Nodes: node.Names(nodes), Pods: pods, Witness: saw}, err
		},
		Undo:    c.revert,
		Restore: t.restored(settled, node.OfEach(nodes, nodeIsBack)),
		Until:   strings.Join(node.Names(nodes), ", ") + " to be cut off", Limit: cutLimit,
	}, nil
}

func (p Partition) victims(ctx context.Context, t Target) (nodes []clusters.Node, pods []string, err error) {
	if p.Zone {
		return ZoneOutage{}.victims(ctx, t)
	}
	node, pods, err := t.oneWorker(ctx, p.Worker)
	return []clusters.Node{node}, pods, err
}

// cut is what a partition needs to know: the nodes, where each is, and who looks at them from elsewhere.
type cut struct {
	nodes   []clusters.Node
	address map[string]string // by node
	peers   []string          // addresses and ranges that the nodes may go on to talk to: their own
	outside clusters.Node     // the probes' other end
}

// cut looks up the addresses of nodes, and picks a node to look from: the one that carries the load, which no fault touches, or
// another that is to stay.
func (t Target) cut(ctx context.Context, nodes []clusters.Node) (cut, error) {
	c := cut{nodes: nodes, address: map[string]string{}}
	for _, n := range t.Cluster.Nodes() {
		ours := slices.ContainsFunc(nodes, func(other clusters.Node) bool { return other.Name() == n.Name() })
		if !ours && (c.outside == nil || n.Role() == clusters.LoadNode) {
			c.outside = n
		}
	}
	if c.outside == nil {
		return c, errors.New("there is no node that would stay")
	}
	for _, n := range append(slices.Clone(nodes), c.outside) {
		o, err := t.Client.CoreV1().Nodes().Get(ctx, n.Name(), metav1.GetOptions{})
		if err != nil {
			return c, fmt.Errorf("read node %s: %w", n.Name(), err)
		}
		at, err := node.InternalIPv4(o)
		if err != nil {
			return c, err
		}
		c.address[n.Name()] = at
		if n.Name() == c.outside.Name() || len(nodes) == 1 {
			continue
		}
		c.peers = append(c.peers, at)
		if prefix, err := netip.ParsePrefix(o.Spec.PodCIDR); err == nil && prefix.Addr().Is4() {
			c.peers = append(c.peers, prefix.String())
		}
	}
	return c, nil
}

// faultTable is the table that faults make in a node's nftables. No other rules are touched.
const faultTable = "inet holdfast_fault"

// dropTable removes the table, if there is one.
const dropTable = "if nft list table " + faultTable + " >/dev/null 2>&1; then nft delete table " + faultTable + "; fi"

// ruleset drops what crosses the node's network interface, before connections are looked up, so that those that are open are
// cut, too. Peers are let through.
func (c cut) ruleset() string {
	var allow [2]string
	if len(c.peers) > 0 {
		set := "{ " + strings.Join(c.peers, ", ") + " }"
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
	err := poll.Until(ctx, strings.Join(node.Names(c.nodes), ", ")+" to be reached again", cutLimit, c.open)
	if err != nil {
		return err
	}
	return node.OnEach(c.nodes, func(n clusters.Node) error { return seeStarted(ctx, n) })
}

// closed reports whether no probe passes although the nodes run.
func (c cut) closed(ctx context.Context) (closed bool, saw string, err error) {
	for _, n := range c.nodes {
		state, err := n.State(ctx)
		if err != nil || state != clusters.Running { // and nothing can be run on it
			return false, fmt.Sprintf("the engine says %s is %s", n.Name(), state), err
		}
		in, out, own, err := c.probe(ctx, n)
		if err != nil {
			return false, "", err
		}
		if in != unanswered || out != unanswered || own != answered {
			return false, c.words(n, in, out, own), nil
		}
	}
	return true, "no probe passes between " + c.outside.Name() + " and " + strings.Join(node.Names(c.nodes), ", ") +
		", in either direction; " + node.OfEach(c.nodes, "%s runs, and its kubelet answers on the spot"), nil
}

// open reports whether all probes pass.
func (c cut) open(ctx context.Context) (open bool, saw string, err error) {
	var words []string
	open = true
	for _, n := range c.nodes {
		in, out, own, err := c.probe(ctx, n)
		if err != nil {
			return false, "", err
		}
		open = open && in == answered && out == answered && own == answered
		words = append(words, c.words(n, in, out, own))
	}
	return open, strings.Join(words, "; "), nil
}

// words say what became of a node's probes.
func (c cut) words(n clusters.Node, in, out, own knock) string {
	return fmt.Sprintf("probes of %s from %s: %s; the other way: %s; on the spot: %s", n.Name(), c.outside.Name(), in, out, own)
}

// probe asks for a connection to a node's kubelet from another node, from the node to the other node's kubelet, and from the node to its
// own kubelet.
func (c cut) probe(ctx context.Context, n clusters.Node) (in, out, own knock, err error) {
	if in, err = knockAt(ctx, c.outside, c.address[n.Name()]); err != nil {
		return "", "", "", err
	}
	if out, err = knockAt(ctx, n, c.address[c.outside.Name()]); err != nil {
		return "", "", "", err
	}
	own, err = knockAt(ctx, n, c.address[n.Name()])
	return in, out, own, err
}

// knock is what became of a packet that asks a kubelet's port for a connection.
type knock string

const (
	answered   knock = "answered"
	refused    knock = "refused" // by a machine that is there
	unanswered knock = "unanswered"
)

// knockScript takes the address as $1, and waits a second: within a cluster an answer takes a millisecond.
const knockScript = `timeout 1 bash -c ': <"/dev/tcp/$0/10250"' "$1" 2>/dev/null; case $? in 0) echo answered;; 124) echo unanswered;; *) echo refused;; esac`

// knockAt asks from a node for a connection to the kubelet at an address.
func knockAt(ctx context.Context, from clusters.Node, address string) (knock, error) {
	out, err := from.Exec(ctx, "sh", "-c", knockScript, "knock", address)
	if err != nil {
		return "", fmt.Errorf("probe %s from %s: %w", address, from.Name(), err)
	}
	k := knock(strings.TrimSpace(string(out)))
	if k != answered && k != refused && k != unanswered {
		return "", fmt.Errorf("probe %s from %s: it says %q", address, from.Name(), k)
	}
	return k, nil
}
