package load

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/dial"
	"github.com/holdfast-ha/holdfast/framework/load/outcome"
	"github.com/holdfast-ha/holdfast/framework/load/roundtrip"
)

// dialer makes the connections of a lane.
type dialer struct {
	dial.Dialer
	shared *sharedDialer
}

// sharedDialer is what the dialers of a worker's lanes have in common.
type sharedDialer struct {
	ids   atomic.Uint64 // numbers the connections
	flows Flows         // nil: see Options
	ports dial.SourcePorts
}

// newDialer chooses the source ports itself where connections are looked up, because a connection that fails does not tell its own.
func newDialer(l Lane, shared *sharedDialer) *dialer {
	d := &dialer{Dialer: dial.Dialer{Limit: l.Timeouts.Connect, Lookup: net.DefaultResolver.LookupNetIP}, shared: shared}
	if len(l.Addresses) > 0 {
		d.Lookup = func(context.Context, string, string) ([]netip.Addr, error) { return l.Addresses, nil }
	}
	if shared.flows != nil {
		d.Ports = &shared.ports
	}
	return d
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.Dial(ctx, network, address)
	if err != nil {
		return nil, d.failed(err)
	}
	return &conn{Conn: c, id: d.shared.ids.Add(1), addr: d.behind(c.LocalAddr(), c.RemoteAddr())}, nil
}

// secure returns a function that makes TLS connections. Its errors tell the server, also if only the handshake failed.
func (d *dialer) secure(config *tls.Config) roundtrip.Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		over, err := d.dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		made, err := dial.Secure(ctx, over, config, d.Limit)
		if err != nil {
			return nil, &lostConn{err, over.(*conn).addr}
		}
		return made, nil
	}
}

// ownConn is the connection below that of net/http; nil: it is not ours.
func ownConn(c net.Conn) *conn {
	if secured, is := c.(*tls.Conn); is {
		c = secured.NetConn()
	}
	own, _ := c.(*conn)
	return own
}

// stillborn is net/http's error for a connection of HTTP/2 that ended before its first request was written. It does not say why.
const stillborn = "http2: client conn could not be established"

// alertOn is what the server said in TLS of why it ended a connection that nobody reads any more; nil: it did not say. In TLS 1.3 a client
// believes that the handshake is over before the server has looked at its certificate.
func alertOn(c net.Conn) error {
	secured, is := c.(*tls.Conn)
	if !is {
		return nil
	}
	_ = secured.SetReadDeadline(time.Unix(1, 0)) // what ended it is returned again; nothing is waited for
	_, err := secured.Read(make([]byte, 1))
	if err == nil || outcome.Of(err, outcome.Waiting) != history.BadTLS {
		return nil
	}
	return err
}

// conn is a connection that knows its number, the server that last answered on it, and how it broke.
type conn struct {
	net.Conn
	id   uint64
	addr string
	// server is set by the request that has the connection, before it returns the connection to the pool.
	server atomic.Pointer[server]
	used   atomic.Bool // by a request; for protocols where net/http does not report it
	// broke is the first error, which net/http does not return when it retries. Linux reports a reset only once: if a write got
	// it, a read gets EOF.
	broke atomic.Pointer[error]
}

// Read remembers the first error.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.breaks(err)
	}
	return n, err
}

// Write remembers the first error.
func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil {
		c.breaks(err)
	}
	return n, err
}

// breaks takes the error as an argument of its own, because taking the address of its callers' variable would allocate at every
// call.
func (c *conn) breaks(err error) { c.broke.CompareAndSwap(nil, &err) }

// NetConn is the connection below.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Broke returns how the connection broke; nil if it did not, or not yet.
func (c *conn) Broke() error {
	if err := c.broke.Load(); err != nil {
		return *err
	}
	return nil
}

// answeredBy remembers the server that answered last on the connection. A server's name rarely changes, and storing it allocates.
func (c *conn) answeredBy(who server) {
	if last := c.server.Load(); last == nil || *last != who {
		now := who // taking the address of who would allocate at every call
		c.server.Store(&now)
	}
}
