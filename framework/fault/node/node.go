// Package node is how a fault touches a node: undo scripts that the node keeps, commands and probes that run on it.
//
// It picks no nodes and knows no workload (package fault does).
package node

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/clusters"
)

// OnEach does something to all nodes at the same time, and returns all errors.
func OnEach(nodes []clusters.Node, do func(clusters.Node) error) error {
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { errs[i] = do(n) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// OfEach puts every node's name into words, which have one %s.
func OfEach(nodes []clusters.Node, words string) string {
	said := make([]string, len(nodes))
	for i, n := range nodes {
		said[i] = fmt.Sprintf(words, n.Name())
	}
	return strings.Join(said, "; ")
}

// Names are the nodes' names, in their order.
func Names(nodes []clusters.Node) []string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Name()
	}
	return names
}

// InternalIPv4 is a node's own address.
func InternalIPv4(n *corev1.Node) (string, error) {
	for _, a := range n.Status.Addresses {
		if ip, err := netip.ParseAddr(a.Address); err == nil && a.Type == corev1.NodeInternalIP && ip.Is4() {
			return ip.String(), nil
		}
	}
	return "", fmt.Errorf("node %s has no internal IPv4 address", n.Name)
}
