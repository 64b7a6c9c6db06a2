package load

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/dial"
)

// LaneH2C is a few HTTP/2 connections without TLS, each with many concurrent requests.
const LaneH2C history.Lane = "h2c"

// httpTransport has the net/http transports of a lane, which take turns.
type httpTransport struct {
	turns []http.RoundTripper
	// multiplexed: a connection may stop taking requests after net/http has chosen it, before anything is written to it.
	multiplexed bool
}

func newFresh(l Lane, d *dialer) transport {
	d.Ports = cmp.Or(d.Ports, &dial.SourcePorts{})
	l.Connections = 1 // one transport, which keeps no connections
	return newHTTP(l, d, func(t *http.Transport) { t.DisableKeepAlives = true })
}

func newPooled(l Lane, d *dialer) transport { return newHTTP(l, d, func(*http.Transport) {}) }

// newH2C returns a transport whose connections are pinged. Without pings, HTTP/2 does not give up a connection on which requests
// time out, and one to a dead node would carry the lane's requests for a quarter of an hour.
func newH2C(l Lane, d *dialer) transport {
	all := newHTTP(l, d, func(t *http.Transport) {
		t.Protocols = new(http.Protocols)
		t.Protocols.SetUnencryptedHTTP2(true)
		t.HTTP2 = &http.HTTP2Config{SendPingTimeout: l.Timeouts.Response, PingTimeout: l.Timeouts.Response}
	})
	all.multiplexed = true
	return all
}

func newHTTP(l Lane, d *dialer, change func(*http.Transport)) *httpTransport {
	all := &httpTransport{}
	for i := range l.Connections {
		t := newRoundTripper(d.dial, share(l.InFlight, l.Connections, 0))
		if l.MaxConnections > 0 {
			t.MaxConnsPerHost = share(l.MaxConnections, l.Connections, i)
		}
		t.TLSClientConfig, _ = l.Request.TLS.Config(l.Request.ServerName()) // the plan was validated
		t.TLSHandshakeTimeout = l.Timeouts.Connect
		change(t)
		all.turns = append(all.turns, t)
	}
	return all
}

// share returns the i-th part of a whole that is divided into parts that differ by at most one.
func share(whole, parts, i int) int { return (whole + parts - 1 - i) / parts }

// of returns the transport for the worker's n-th request. Each connection has a transport of its own, because a shared transport would reuse
// the connection used last and leave the others idle. A transport opens another connection when its own is busy, and keeps it,
// so slow answers do not turn a reused lane into a fresh one. With MaxConnections, the request waits once the transport has its
// share of them.
func (h *httpTransport) of(n uint64) http.RoundTripper { return h.turns[n%uint64(len(h.turns))] }

const (
	idleTimeout  = 90 * time.Second // net/http's default, which servers must cope with
	maxHeadBytes = 64 << 10         // of a response head; the backend's has about 300 bytes
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// newRoundTripper returns a transport like that of most clients, but without features that would hide what happens: proxies,
// compression, and an automatic upgrade to HTTP/2. The dialer and the sender's deadline bound the waits.
func newRoundTripper(dial dialFunc, maxIdle int) *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dial,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeadBytes,
	}
}

// close closes the idle connections.
func (h *httpTransport) close() {
	for _, t := range h.turns {
		if t, ok := t.(*http.Transport); ok {
			t.CloseIdleConnections()
		}
	}
}
