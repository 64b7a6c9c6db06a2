package load

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// conn is a connection that knows its number, the server that last answered on it, and how it broke.
type conn struct {
	net.Conn
	id   uint64
	addr string
	// who is set by the request that has the connection, before it returns the connection to the pool.
	who  atomic.Pointer[server]
	used atomic.Bool // by a request; for protocols where net/http does not report it
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

// end returns how the connection broke; nil if it did not, or not yet.
func (c *conn) end() error {
	if err := c.broke.Load(); err != nil {
		return *err
	}
	return nil
}

// knows reports whether who is the server that answered last on the connection.
func (c *conn) knows(who server) bool {
	last := c.who.Load()
	return last != nil && *last == who
}

// server identifies the server that answered, by its response headers.
type server struct {
	pod, node, zone, revision string
	// gateway is true when the answer came through one: the connection then does not identify the pod behind it.
	gateway bool
}

// connections are the HTTP transports of a lane, used in turn.
type connections struct {
	turns []http.RoundTripper
}

// newConnections returns the connections of a lane; ids numbers the connections of the whole worker.
func newConnections(l Lane, ids *atomic.Uint64) *connections {
	d := newDialer(l, ids)
	if l.Lane == history.LaneFresh {
		d.ports = &sourcePorts{}
	}
	return d.connections(l)
}

func (d *dialer) connections(l Lane) *connections {
	count := l.Connections
	if l.Lane == history.LaneFresh {
		count = 1 // one transport, which keeps no connections
	}
	all := &connections{}
	for i := range count {
		t := newTransport(l, d.dial, count)
		if l.MaxConnections > 0 {
			t.MaxConnsPerHost = share(l.MaxConnections, count, i)
		}
		all.turns = append(all.turns, t)
	}
	return all
}

// share returns the i-th part of a whole that is divided into parts that differ by at most one.
func share(whole, parts, i int) int { return (whole + parts - 1 - i) / parts }

// of returns the transport for request k. Each connection has a transport of its own, because a shared transport would reuse
// the connection used last and leave the others idle. A transport opens another connection when its own is busy, and keeps it,
// so slow answers do not turn a reused lane into a fresh one. With MaxConnections, the request waits once the transport has its
// share of them.
func (c *connections) of(k uint64) http.RoundTripper { return c.turns[k%uint64(len(c.turns))] }

const (
	idleTimeout  = 90 * time.Second // net/http's default, which servers must cope with
	maxHeadBytes = 64 << 10         // of a response head; the backend's has about 300 bytes
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// newTransport returns a transport like that of most clients, but without features that would hide what happens: proxies,
// compression, and an automatic upgrade to HTTP/2. The dialer and the sender's alarm bound the waits. HTTP/2 connections are
// pinged: without pings, HTTP/2 does not give up a connection on which requests time out, and one to a dead node would carry
// the lane's requests for a quarter of an hour.
func newTransport(l Lane, dial dialFunc, turns int) *http.Transport {
	t := &http.Transport{
		Proxy:                  nil,
		DialContext:            dial,
		DisableCompression:     true,
		DisableKeepAlives:      l.Lane == history.LaneFresh,
		MaxIdleConnsPerHost:    share(l.InFlight, turns, 0),
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeadBytes,
	}
	if l.Lane == history.LaneH2C {
		t.Protocols = new(http.Protocols)
		t.Protocols.SetUnencryptedHTTP2(true)
		t.HTTP2 = &http.HTTP2Config{SendPingTimeout: l.Timeouts.Response, PingTimeout: l.Timeouts.Response}
	}
	return t
}

// close closes the idle connections.
func (c *connections) close() {
	for _, t := range c.turns {
		if t, ok := t.(*http.Transport); ok {
			t.CloseIdleConnections()
		}
	}
}
