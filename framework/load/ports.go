package load

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
)

// The source ports that a fresh lane takes in turn. They lie below those that Linux hands out by itself.
const (
	firstPort = 10_000
	lastPort  = 32_767
)

// sourcePorts gives each connection another source port, and the same one again as late as possible.
//
// Left to Linux, a port comes back after about 30 s at 100 connections a second. A Service's address is translated by an
// entry per source port in the node's connection tracking, and a connection that was never answered leaves its entry
// there for 120 s (nf_conntrack_tcp_timeout_syn_sent). A later connection from the same port is then sent to the same
// dead pod, long after kube-proxy has forgotten it. One worker stands for many clients, to whom that does not happen:
// here a port is not used again for over 120 s up to 189 connections a second.
// Source: https://www.kernel.org/doc/Documentation/networking/nf_conntrack-sysctl.txt
type sourcePorts struct {
	turn atomic.Uint32
}

func (p *sourcePorts) next() int {
	return firstPort + int((p.turn.Add(1)-1)%(lastPort-firstPort+1))
}

// connect takes the next port, or one of Linux's choice where that one is in use. Without p, all are of Linux's choice.
func (p *sourcePorts) connect(ctx context.Context, network, address string) (net.Conn, error) {
	var anyPort net.Dialer
	if p == nil {
		return anyPort.DialContext(ctx, network, address)
	}
	own := net.Dialer{LocalAddr: &net.TCPAddr{Port: p.next()}}
	c, err := own.DialContext(ctx, network, address)
	if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EADDRNOTAVAIL) {
		return anyPort.DialContext(ctx, network, address)
	}
	return c, err
}
