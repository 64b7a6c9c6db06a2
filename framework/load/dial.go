package load

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

// dialer makes the connections of a lane. It tries only one address of a name, because package net's dialer would go on to the
// next address and hide that one was refused. The addresses take turns.
type dialer struct {
	limit  time.Duration
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	ids    *atomic.Uint64 // numbers the worker's connections
	turn   atomic.Uint64
	ports  *sourcePorts // nil: Linux chooses
}

func newDialer(l Lane, ids *atomic.Uint64) *dialer {
	return &dialer{limit: l.Timeouts.Connect, lookup: net.DefaultResolver.LookupNetIP, ids: ids}
}

// dial connects within the limit, which includes the name lookup.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ip, err := d.pick(ctx, host)
	if err != nil {
		return nil, err
	}
	c, err := d.ports.connect(ctx, network, net.JoinHostPort(ip.String(), port))
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, id: d.ids.Add(1), addr: c.RemoteAddr().String()}, nil
}

// pick chooses one of a host's addresses, an IPv4 address if there is one, as in most clusters.
func (d *dialer) pick(ctx context.Context, host string) (netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip, nil
	}
	all, err := d.lookup(ctx, "ip", host)
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
