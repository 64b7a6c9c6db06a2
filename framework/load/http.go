package load

import (
	"cmp"
	"net/http"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/dial"
	"github.com/holdfast-ha/holdfast/framework/load/roundtrip"
)

// LaneH2C is a few HTTP/2 connections without TLS, each with many concurrent requests.
const LaneH2C history.Lane = "h2c"

// Lanes of HTTP/2 on which only servers of users' applications are asked.
const (
	LaneH2CFresh history.Lane = "h2c-fresh" // a new connection for every request
	LaneH2       history.Lane = "h2"        // over TLS, a few connections
	LaneH2Fresh  history.Lane = "h2-fresh"  // over TLS, a new connection for every request
)

// httpTransport has the clients of a lane, which take turns.
type httpTransport struct {
	turns []http.RoundTripper
	// http2: a connection may stop taking requests after a client has chosen it, before anything is written to it.
	http2 bool
}

func newFresh(l Lane, d *dialer) transport {
	return newHTTP(l.single(d), d, func(o roundtrip.Options) http.RoundTripper { return roundtrip.Fresh(o) })
}

func newPooled(l Lane, d *dialer) transport {
	return newHTTP(l, d, func(o roundtrip.Options) http.RoundTripper { return roundtrip.Pooled(o) })
}

func newMultiplexed(l Lane, d *dialer) transport {
	return newHTTP2(l, d, func(o roundtrip.Options) http.RoundTripper { return roundtrip.Multiplexed(o) })
}

func newSingle(l Lane, d *dialer) transport {
	address, _ := l.address()
	return newHTTP2(l.single(d), d, func(o roundtrip.Options) http.RoundTripper { return roundtrip.Single(o, address, l.secured()) })
}

// single is a lane with one client, which keeps no connections.
func (l Lane) single(d *dialer) Lane {
	d.Ports = cmp.Or(d.Ports, &dial.SourcePorts{})
	l.Connections = 1
	return l
}

func newHTTP2(l Lane, d *dialer, client func(roundtrip.Options) http.RoundTripper) transport {
	all := newHTTP(l, d, client, "h2")
	all.http2 = true
	return all
}

// newHTTP makes clients, one for each of the lane's connections. Over TLS the server must choose one of the protocols, if there are any.
func newHTTP(l Lane, d *dialer, client func(roundtrip.Options) http.RoundTripper, protocols ...string) *httpTransport {
	config := l.Request.ClientTLS(l.Target)
	config.NextProtos = protocols
	o := roundtrip.Options{Dial: d.dial, DialTLS: d.secure(config), Idle: share(l.InFlight, l.Connections, 0), Ping: l.Timeouts.Response}
	all := &httpTransport{}
	for i := range l.Connections {
		if l.MaxConnections > 0 {
			o.Most = share(l.MaxConnections, l.Connections, i)
		}
		all.turns = append(all.turns, client(o))
	}
	return all
}

// share returns the i-th part of a whole that is divided into parts that differ by at most one.
func share(whole, parts, i int) int { return (whole + parts - 1 - i) / parts }

// of returns the client for the worker's n-th request. Each connection has a client of its own, because a shared one would reuse
// the connection used last and leave the others idle. A client opens another connection when its own is busy, and keeps it,
// so slow answers do not turn a reused lane into a fresh one. With MaxConnections, the request waits once the client has its
// share of them.
func (h *httpTransport) of(n uint64) http.RoundTripper { return h.turns[n%uint64(len(h.turns))] }

// close closes the idle connections.
func (h *httpTransport) close() {
	for _, t := range h.turns {
		if t, ok := t.(*http.Transport); ok {
			t.CloseIdleConnections()
		}
	}
}
