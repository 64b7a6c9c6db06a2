package dial

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
)

// The source ports that a fresh lane takes in turn. They are below the range from which Linux assigns ports.
const (
	firstPort = 10_000
	lastPort  = 32_767
)

// SourcePorts gives each connection another source port, and reuses a port as late as possible.
//
// Ports assigned by Linux repeat after about 30 s at 100 connections a second. The node's connection tracking has an entry per
// source port that translates a Service's address, and a connection that was never answered leaves its entry there for 120 s
// (nf_conntrack_tcp_timeout_syn_sent). A later connection from the same port is then sent to the same dead pod, long after
// kube-proxy has removed it. One worker stands for many clients, to which that does not happen. Here a port is not reused for
// over 120 s at up to 189 connections a second.
// Source: https://www.kernel.org/doc/Documentation/networking/nf_conntrack-sysctl.txt
type SourcePorts struct {
	turn atomic.Uint32
}

func (p *SourcePorts) next() int {
	return firstPort + int((p.turn.Add(1)-1)%(lastPort-firstPort+1))
}

// connect connects from the next port, or from one that Linux assigns if that port is in use. If p is nil, Linux assigns all
// ports.
func (p *SourcePorts) connect(ctx context.Context, network, address string) (net.Conn, error) {
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
