package load

import (
	"errors"
	"net"
	"net/netip"
)

// Flows tells where connections lead that were made to the address of a Service. A server that was not written for holdfast does not
// say which pod it is, but the kernel that translates the address knows.
type Flows interface {
	// Server is the address behind a new connection from a local port; not ok: nothing translates the connection's address, or nothing
	// is known of it. It is asked once for each connection.
	Server(port uint16, remote netip.AddrPort) (netip.AddrPort, bool)
}

// lostConn is why no connection could be made, with the server that it would have led to.
type lostConn struct {
	error
	addr string
}

func (l *lostConn) Unwrap() error { return l.error }

// dialled is the address of the server to which a connection could not be made; empty: the error does not tell.
func dialled(err error) string {
	if lost, ok := errors.AsType[*lostConn](err); ok {
		return lost.addr
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
		return op.Addr.String()
	}
	return ""
}

// behind is the server behind a connection: an address that was dialled, or the one that it was translated to.
func (d *dialer) behind(local, remote net.Addr) string {
	if d.shared.flows == nil {
		return remote.String()
	}
	from, known := local.(*net.TCPAddr)
	to, is := remote.(*net.TCPAddr)
	if !known || !is || to.IP.IsLoopback() { // which never leaves this machine
		return remote.String()
	}
	at := to.AddrPort()
	server, ok := d.shared.flows.Server(uint16(from.Port), netip.AddrPortFrom(at.Addr().Unmap(), at.Port()))
	if !ok {
		return remote.String()
	}
	return server.String()
}

// failed adds the server to the error of a connection that could not be made. Its source address is known only if it was chosen here.
func (d *dialer) failed(err error) error {
	op, ok := errors.AsType[*net.OpError](err)
	if d.shared.flows == nil || !ok || op.Source == nil || op.Addr == nil {
		return err
	}
	if addr := d.behind(op.Source, op.Addr); addr != op.Addr.String() {
		return &lostConn{err, addr}
	}
	return err
}
