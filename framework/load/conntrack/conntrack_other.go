//go:build !linux

// Package conntrack asks the kernel of a node where connections lead. Nodes run Linux; elsewhere it knows nothing.
package conntrack

import (
	"errors"
	"net/netip"
)

// NodeNamespace is the network namespace of the node, for a pod that sees the node's processes (hostPID).
const NodeNamespace = "/proc/1/ns/net"

// Table knows nothing.
type Table struct{}

// Open returns an error.
func Open(string) (*Table, error) {
	return nil, errors.New("follow connections: only Linux tells where they lead")
}

// Close does nothing.
func (*Table) Close() error { return nil }

// Server knows of no connection.
func (*Table) Server(uint16, netip.AddrPort) (netip.AddrPort, bool) { return netip.AddrPort{}, false }
