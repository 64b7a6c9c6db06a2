// Package roundtrip has net/http's client as it must be to hide nothing: without proxies, without compression, without a protocol that was
// not asked for, and on one lane without repeating what failed.
//
// It neither judges answers nor records them.
package roundtrip

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Dial makes a connection.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Options of a client.
type Options struct {
	Dial    Dial
	DialTLS Dial // of https URLs, with the handshake; it sees to it that the server speaks the client's version of HTTP
	// Idle is how many connections are kept while no request uses them, and Most how many there are at most; 0: no limit.
	Idle, Most int
	// Ping is when a connection of HTTP/2 on which nothing has come is pinged, and how long the server may take to answer.
	Ping time.Duration
}

const (
	idleTimeout  = 90 * time.Second // net/http's default, which servers must cope with
	maxHeadBytes = 64 << 10         // of a response head; the backend's has about 300 bytes
)

// Pooled speaks HTTP/1.1 on connections that are kept. The dialers and the sender's deadline bound the waits.
func Pooled(o Options) *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            o.Dial,
		DialTLSContext:         o.DialTLS,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    o.Idle,
		MaxConnsPerHost:        o.Most,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeadBytes,
	}
}

// Fresh speaks HTTP/1.1, with a connection for each request.
func Fresh(o Options) *http.Transport {
	t := Pooled(o)
	t.DisableKeepAlives = true
	return t
}

// Multiplexed speaks HTTP/2, over TLS if the URL says https, with many requests on a connection at a time. Connections are pinged: without
// pings, HTTP/2 does not give up a connection on which requests time out, and one to a dead node would carry requests for a quarter
// of an hour.
func Multiplexed(o Options) *http.Transport {
	t := Pooled(o)
	t.Protocols = new(http.Protocols)
	t.Protocols.SetUnencryptedHTTP2(true)
	t.Protocols.SetHTTP2(true)
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: o.Ping, PingTimeout: o.Ping}
	return t
}
