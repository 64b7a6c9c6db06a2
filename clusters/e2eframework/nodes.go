package e2eframework

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/e2e-framework/support"

	"github.com/holdfast-ha/holdfast/clusters"
)

// AddNode returns errors.ErrUnsupported: the nodes of a cluster are fixed when it is created.
func (p *Provider) AddNode(_ context.Context, node *support.Node, _ ...string) error {
	return fmt.Errorf("add node %s: %w: a cluster's nodes are fixed when it is made", node.Name, errors.ErrUnsupported)
}

// RemoveNode returns errors.ErrUnsupported, like AddNode. To take a node away until StartNode, use StopNode.
func (p *Provider) RemoveNode(_ context.Context, node *support.Node, _ ...string) error {
	return fmt.Errorf("remove node %s: %w: a cluster's nodes are fixed when it is made; stop it", node.Name, errors.ErrUnsupported)
}

// StartNode returns when the node is Ready again and network probes to and from the node succeed.
func (p *Provider) StartNode(ctx context.Context, node *support.Node, args ...string) error {
	return p.act(node.Name, args, func(n clusters.Node) error { return n.Start(ctx) })
}

// StopNode shuts the node down gracefully, and returns when another node has seen that it no longer answers.
func (p *Provider) StopNode(ctx context.Context, node *support.Node, args ...string) error {
	return p.act(node.Name, args, func(n clusters.Node) error { return n.Stop(ctx) })
}

func (p *Provider) act(name string, args []string, verb func(clusters.Node) error) error {
	if err := refuse(args); err != nil {
		return err
	}
	if p.cluster == nil {
		return p.missing()
	}
	nodes := p.cluster.Nodes()
	at := slices.IndexFunc(nodes, func(n clusters.Node) bool { return n.Name() == name })
	if at < 0 {
		return fmt.Errorf("node %q: cluster %s has no such node; see ListNode", name, p.name)
	}
	return verb(nodes[at])
}

// ListNode returns every node, including nodes that are down. IP is the InternalIP of the Node object, or nil if the API server
// does not answer.
func (p *Provider) ListNode(ctx context.Context, args ...string) ([]support.Node, error) {
	if err := refuse(args); err != nil {
		return nil, err
	}
	if p.cluster == nil {
		return nil, p.missing()
	}
	known := addresses(ctx, p.cluster)
	var all []support.Node
	for _, n := range p.cluster.Nodes() {
		state, err := n.State(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the nodes of cluster %s: %w", p.name, err)
		}
		all = append(all, support.Node{
			Name: n.Name(), Role: string(n.Role()), Cluster: p.name, State: string(state), IP: known[n.Name()],
		})
	}
	return all, nil
}

// addresses are the internal addresses of the nodes by name. The map is empty if the API server does not answer.
func addresses(ctx context.Context, c clusters.Cluster) map[string]net.IP {
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return nil
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	known := map[string]net.IP{}
	for _, node := range nodes.Items {
		for _, address := range node.Status.Addresses {
			if address.Type == corev1.NodeInternalIP {
				known[node.Name] = net.ParseIP(address.Address)
			}
		}
	}
	return known
}
