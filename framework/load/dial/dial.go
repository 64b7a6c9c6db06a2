// Package dial makes connections as a client should that hides nothing: to one address of a name, from a source port that connection
// tracking has forgotten.
//
// It does not know what the connections are for, and does not record them.
package dial

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

// Dialer makes the connections of a lane. It tries only one address of a name, because package net's dialer would go on to the
// next address and hide that one was refused. The addresses take turns.
type Dialer struct {
	// Limit bounds making a connection, name lookup included.
	Limit time.Duration
	// Lookup finds a name's addresses.
	Lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	// Ports are the source ports; nil: Linux chooses.
	Ports *SourcePorts

	turn atomic.Uint64
}

// Dial connects within the limit.
func (d *Dialer) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.Limit)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ip, err := d.pick(ctx, host)
	if err != nil {
		return nil, err
	}
	return d.Ports.connect(ctx, network, net.JoinHostPort(ip.String(), port))
}

// pick chooses one of a host's addresses, an IPv4 address if there is one, as in most clusters.
func (d *Dialer) pick(ctx context.Context, host string) (netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip, nil
	}
	all, err := d.Lookup(ctx, "ip", host)
	if err != nil {
		return netip.Addr{}, err
	}
	var v4 []netip.Addr
	for _, ip := range all {
		if ip = ip.Unmap(); ip.Is4() {
			v4 = append(v4, ip)
		}
	}
	if len(v4) > 0 {
		all = v4
	}
	if len(all) == 0 {
		return netip.Addr{}, fmt.Errorf("look up %s: no addresses", host)
	}
	return all[(d.turn.Add(1)-1)%uint64(len(all))], nil
}
