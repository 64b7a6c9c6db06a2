package load

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// conn is a connection that knows its number, who answered on it last, and how it broke.
type conn struct {
	net.Conn
	id   uint64
	addr string
	// who is set by a request that has the connection, before it gives it back.
	who  atomic.Pointer[server]
	used atomic.Bool // by a request; where net/http does not tell
	// broke is the first error, which net/http keeps to itself when it tries again. Linux tells of a reset only once: who
	// reads after it was told to who writes is told of an end.
	broke atomic.Pointer[error]
}

// Read remembers its error.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.breaks(err)
	}
	return n, err
}

// Write remembers its error.
func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil {
		c.breaks(err)
	}
	return n, err
}

// breaks has an argument of its own, because that of its callers would be allocated at every call.
func (c *conn) breaks(err error) { c.broke.CompareAndSwap(nil, &err) }

// end is how the connection broke; nil if it did not, or not yet.
func (c *conn) end() error {
	if err := c.broke.Load(); err != nil {
		return *err
	}
	return nil
}

// knows tells whether that is who answered on it last.
func (c *conn) knows(who server) bool {
	last := c.who.Load()
	return last != nil && *last == who
}

// server is who answered, in its own words.
type server struct {
	pod, node, zone, revision string
	// gateway is true when the answer came through one: the connection then says nothing of the pod behind it.
	gateway bool
}

// connections are those of a lane.
type connections struct {
	turns []http.RoundTripper
}

// newConnections makes the connections of a lane; ids numbers those of the whole worker.
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
		count = 1 // of transports, which keep no connection
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

// share is the i-th of so many parts of a whole, which differ by at most one.
func share(whole, parts, i int) int { return (whole + parts - 1 - i) / parts }

// of is what sends request k. Each connection has a transport of its own, because a shared one would use the connection
// used last, again and again, and leave the others idle. A transport makes another connection when its own is busy, and
// keeps it, so that slow answers do not turn a reused lane into a fresh one; with MaxConnections the request waits once the
// transport has its share of them.
func (c *connections) of(k uint64) http.RoundTripper { return c.turns[k%uint64(len(c.turns))] }

const (
	idleTimeout  = 90 * time.Second // net/http's own default: what a server must cope with
	maxHeadBytes = 64 << 10         // of a response; the backend's has about 300 bytes
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// newTransport is net/http as most clients have it, without what would bend the truth: proxies, compression, HTTP/2
// behind the caller's back. The waits are bounded by the dialer and by the sender's alarm. HTTP/2 gets pings besides: it does
// not give up a connection on which requests time out, and one to a dead node would carry the lane's for a quarter of an hour.
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

// close ends the connections that are idle.
func (c *connections) close() {
	for _, t := range c.turns {
		if t, ok := t.(*http.Transport); ok {
			t.CloseIdleConnections()
		}
	}
}
