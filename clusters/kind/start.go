package kind

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/clusters"
)

// pulseWithin bounds the queries about a node before its start. Measured: some milliseconds.
const pulseWithin = 5 * time.Second

// Start starts a stopped node with its previous address. It returns when the kubelet has reported Ready since the start, the
// node and its pods reach both Services, and pods of another node reach its pods.
func (n *Node) Start(ctx context.Context) error {
	state, err := n.State(ctx)
	if err != nil {
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	if state == clusters.Paused {
		return fmt.Errorf("start %s: it is paused; resume it", n.name)
	}
	var before pulse
	if state == clusters.Exited {
		// Without the API server nothing is known from before. Then this node is the control plane, or the probes will show
		// whether it is back. An API server whose etcd has lost its majority accepts a request, but answers only after a
		// minute.
		bounded, cancel := context.WithTimeout(ctx, pulseWithin)
		_, before, _ = n.pulse(bounded)
		cancel()
		if err := n.startMachine(ctx); err != nil {
			return fmt.Errorf("start %s: %w", n.name, err)
		}
	}
	if err := settle(ctx, "the node to be back", startWithin, func(ctx context.Context) []string { return n.lookBack(ctx, before) }); err != nil {
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	return nil
}

func (n *Node) startMachine(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, actWithin)
	defer cancel()
	if err := n.pinAddress(bounded); err != nil {
		return err
	}
	if _, err := n.cluster.e.Output(bounded, "start", n.name); err != nil {
		return err
	}
	return n.learnAddress(bounded)
}

// lookBack describes what prevents the node from being back.
func (n *Node) lookBack(ctx context.Context, before pulse) []string {
	node, now, err := n.pulse(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	if missing := notBack(n.member, node, before, now); len(missing) > 0 {
		return missing
	}
	_, servers, err := systemPods(ctx, n.cluster.client)
	if err != nil {
		return []string{err.Error()}
	}
	planned := members(n.cluster.name, n.cluster.record.Spec)
	if err := pinDNS(ctx, n.cluster.client, planned, servers); err != nil {
		return []string{err.Error()}
	}
	if missing := dnsLacking(planned, servers); len(missing) > 0 {
		return missing
	}
	return n.probeBothWays(ctx, addresses(servers))
}

// probeBothWays probes the pods from the node, and the node's witness pod from another node.
func (n *Node) probeBothWays(ctx context.Context, pods []string) []string {
	e, sealed := n.cluster.e, !n.cluster.record.Spec.Egress
	there, err := probe{node: n.name, sealed: sealed, pods: pods, limit: probeLimit}.run(ctx, e)
	if err != nil {
		return []string{err.Error()}
	}
	if len(there.missing) > 0 {
		return there.missing
	}
	from, err := n.cluster.other(ctx, n)
	if err != nil {
		return []string{err.Error()}
	}
	back, err := probe{node: from.name, sealed: sealed, pods: []string{there.witness}, limit: probeLimit}.run(ctx, e)
	if err != nil {
		return []string{err.Error()}
	}
	var missing []string
	for _, what := range back.missing {
		missing = append(missing, "seen from "+from.name+": "+what)
	}
	return missing
}

// leaseNamespace is the namespace of the kubelets' leases.
const leaseNamespace = corev1.NamespaceNodeLease

// pulse is the Node object, and when its kubelet last reported.
func (n *Node) pulse(ctx context.Context) (corev1.Node, pulse, error) {
	node, err := n.cluster.client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
	if err != nil {
		return corev1.Node{}, pulse{}, fmt.Errorf("ask the API server for node %s: %w", n.name, err)
	}
	lease, err := n.cluster.client.CoordinationV1().Leases(leaseNamespace).Get(ctx, n.name, metav1.GetOptions{})
	if err != nil {
		return *node, pulse{}, fmt.Errorf("ask the API server for the lease of %s: %w", n.name, err)
	}
	now := pulse{ready: condition(*node, corev1.NodeReady).LastHeartbeatTime.Time}
	if lease.Spec.RenewTime != nil {
		now.lease = lease.Spec.RenewTime.Time
	}
	return *node, now, nil
}
