package load

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// certificate is a certificate for example.com that signs itself.
var certificate = sync.OnceValue(func() *httptest.Server {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	s.Close()
	return s
})

// authority is the authority that signed the certificate of a server that is identified, as PEM.
func authority(t *testing.T) string {
	t.Helper()
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate().Certificate().Raw}))
}

// identified is the TLS of a server with that certificate, which speaks the protocols.
func identified(t *testing.T, protocols ...string) *tls.Config {
	t.Helper()
	return &tls.Config{Certificates: certificate().TLS.Certificates, NextProtos: protocols}
}

// secured is the URL of a server over TLS that answers over HTTP of both versions, and over WebSockets.
func secured(t *testing.T) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !websocket.IsWebSocketUpgrade(r) {
			_, _ = io.WriteString(w, "pong over "+r.Proto)
			return
		}
		c, err := new(websocket.Upgrader).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer c.Close() //nolint:errcheck // of a test
		pongs(0, c)
	}))
	server.EnableHTTP2, server.TLS = true, identified(t)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// misunderstood is the URL of a server that makes something else of a connection than TLS.
func misunderstood(serve script) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		at, _ := listen(t, func(t *testing.T, n int, c *exchange) {
			_, _ = c.in.Peek(1)
			_, _ = c.in.Discard(c.in.Buffered()) // closing with unread input would send a reset
			serve(t, n, c)
		})
		return strings.Replace(at, "http:", "https:", 1)
	}
}

// handshakes is the URL of a server with that TLS, which does nothing else.
func handshakes(config func(*testing.T) *tls.Config) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		at, _ := listenTLS(t, config(t), func(_ *testing.T, _ int, c *exchange) { c.waits() })
		return at
	}
}

// Each lane tells apart what a server can say, or not say, when TLS begins, and where it said so.
func TestWhatServersSayInTLS(t *testing.T) {
	trusted := func(t *testing.T) request.Request {
		return request.Request{Host: "example.com:8443", TLS: &request.TLS{CA: authority(t)}}
	}
	unverified := func(*testing.T) request.Request {
		return request.Request{Host: "other.test", TLS: &request.TLS{Unverified: true}}
	}
	http2, plain := []string{"h2", "h2-fresh"}, []string{"fresh", "reused", "ws", "ws-kept"}
	all := slices.Concat(http2, plain)
	for name, test := range map[string]struct {
		server  func(*testing.T) string
		request func(*testing.T) request.Request
		lanes   []string
		want    history.Outcome
		text    string
	}{
		"its own authority":       {secured, trusted, all, history.OK, ""},
		"unverified":              {secured, unverified, all, history.OK, ""},
		"an unknown authority":    {secured, func(*testing.T) request.Request { return request.Request{Host: "example.com"} }, all, history.BadTLS, "signed by unknown authority"},
		"a certificate of others": {secured, func(t *testing.T) request.Request { r := trusted(t); r.Host = "other.test"; return r }, all, history.BadTLS, "not other.test"},
		"HTTP without TLS": {
			misunderstood(func(_ *testing.T, _ int, c *exchange) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }),
			trusted, all, history.BadTLS, "first record does not look like a TLS handshake",
		},
		"HTTP/1.1 alone":           {handshakes(func(t *testing.T) *tls.Config { return identified(t, "http/1.1") }), trusted, http2, history.BadTLS, "no application protocol"},
		"no choice of a protocol":  {handshakes(func(t *testing.T) *tls.Config { return identified(t) }), trusted, http2, history.BadTLS, "the server does not choose h2"},
		"closes in the handshake":  {misunderstood(func(*testing.T, int, *exchange) {}), trusted, all, history.ClosedEarly, "EOF"},
		"resets in the handshake":  {misunderstood(func(_ *testing.T, _ int, c *exchange) { c.resets() }), trusted, all, history.Reset, "reset by peer"},
		"no handshake in time":     {misunderstood(func(_ *testing.T, _ int, c *exchange) { c.waits() }), trusted, all, "", ""},
		"the client's certificate": {handshakes(demanding(tls.VersionTLS13)), trusted, all, history.BadTLS, "certificate required"},
		"the same in TLS 1.2":      {handshakes(demanding(tls.VersionTLS12)), trusted, all, history.BadTLS, "remote error: tls: "},
	} {
		for _, lane := range test.lanes {
			t.Run(name+" on "+lane, func(t *testing.T) {
				t.Parallel()
				l := Lane{Lane: history.Lane(lane), Target: test.server(t), Rate: 1, Connections: 1, Timeouts: roomy, Expect: expect.Answer{Status: []int{200}, Contains: "pong"}, Request: test.request(t)}
				want, socket := test.want, strings.HasPrefix(lane, "ws")
				if socket {
					l.Target, l.Request.Body = strings.Replace(l.Target, "https:", "wss:", 1), "ping"
				}
				switch {
				case want == "" && socket:
					want, l.Timeouts.Response = history.TimeoutResponse, 300*time.Millisecond
				case want == "":
					want, l.Timeouts.Connect = history.TimeoutConnect, 300*time.Millisecond
				}
				if err := (Plan{ID: "p", Lanes: []Lane{l}}).Validate(); err != nil {
					t.Fatal(err)
				}
				at, _ := url.Parse(l.Target)
				for _, row := range sendAll(t, testLane(t, l), 2) {
					if row.Outcome != want || !strings.Contains(row.Err, test.text) || row.Addr != at.Host || row.Attempts > 1 {
						t.Errorf("%+v, want %s with %q", row, want, test.text)
					}
				}
			})
		}
	}
}

// demanding is the TLS of a server that wants to see a certificate of its clients.
func demanding(version uint16) func(*testing.T) *tls.Config {
	return func(t *testing.T) *tls.Config {
		c := identified(t, "h2", "http/1.1")
		c.MinVersion, c.MaxVersion, c.ClientAuth = version, version, tls.RequireAnyClientCert
		return c
	}
}

// A lane speaks the version of HTTP that it is named for, whatever else the server speaks.
func TestLanesOverTLSSpeakTheirProtocol(t *testing.T) {
	for lane, want := range map[history.Lane]string{"fresh": "HTTP/1.1", "reused": "HTTP/1.1", LaneH2: "HTTP/2.0", LaneH2Fresh: "HTTP/2.0"} {
		l := Lane{
			Lane: lane, Target: secured(t), Connections: 1, Expect: expect.Answer{Status: []int{200}, Contains: "pong over " + want},
			Request: request.Request{TLS: &request.TLS{Unverified: true}},
		}
		got, row := outcomesOf(t, l, 3)
		wantAll(t, got, history.OK)
		if kind, _ := KindOf(lane); row.Reused != (kind.Connections != PerRequest) {
			t.Errorf("%s: %+v", lane, row)
		}
	}
}

// What a lane cannot speak is refused before anything is sent.
func TestTargetsOfLanes(t *testing.T) {
	for lane, targets := range map[history.Lane]map[string]bool{
		"fresh": {"http": true, "https": true, "ws": false}, LaneH2C: {"http": true, "https": false}, LaneH2CFresh: {"http": true, "https": false},
		LaneH2: {"http": false, "https": true}, LaneH2Fresh: {"http": false, "https": true}, LaneSocket: {"http": true, "https": false},
		LaneWS: {"ws": true, "wss": true, "https": false}, LaneTCP: {"tcp": true, "http": false},
	} {
		for scheme, want := range targets {
			l := Lane{Lane: lane, Target: scheme + "://a:1/", Rate: 1}
			if err := (Plan{ID: "p", Lanes: []Lane{l}}).Validate(); (err == nil) != want {
				t.Errorf("%s of a %s URL: %v", lane, scheme, err)
			}
		}
	}
	both := Lane{Lane: LaneH2, Target: "https://a/", Rate: 1, Request: request.Request{TLS: &request.TLS{CA: authority(t), Unverified: true}}}
	if err := (Plan{ID: "p", Lanes: []Lane{both}}).Validate(); err == nil || !strings.Contains(err.Error(), "want one of ca and unverified") {
		t.Errorf("an authority that nobody asks: %v", err)
	}
}
