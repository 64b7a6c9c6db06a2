package load

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// outcomesOf are the outcomes of n requests, one after the other.
func outcomesOf(t *testing.T, l Lane, n int) (all []history.Outcome, last history.Request) {
	t.Helper()
	l.Rate, l.Timeouts = 100, roomy
	if err := (Plan{ID: "p", Lanes: []Lane{l}}).Validate(); err != nil {
		t.Fatal(err)
	}
	for _, row := range sendAll(t, testLane(t, l), n) {
		all, last = append(all, row.Outcome), row
	}
	return all, last
}

func wantAll(t *testing.T, got []history.Outcome, want history.Outcome) {
	t.Helper()
	for i, o := range got {
		if o != want {
			t.Errorf("request %d is %s, want %s", i, o, want)
		}
	}
}

func TestARequestSaysWhatItsLaneSays(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.Host != "shop.example.com" || r.Header.Get("X-Probe") != "1" || string(body) != `{"sku":1}` {
			t.Errorf("%s %s, X-Probe %q, body %q", r.Method, r.Host, r.Header.Get("X-Probe"), body)
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	defer server.Close()
	for _, name := range []history.Lane{history.LaneFresh, history.LaneReused, history.LaneOf(history.LaneReused, "cart")} {
		got, _ := outcomesOf(t, Lane{
			Lane: name, Target: server.URL + "/cart", Expect: expect.Answer{Status: []int{http.StatusCreated}, Contains: `"ok":true`},
			Request: request.Request{Method: http.MethodPost, Host: "shop.example.com", Headers: map[string]string{"X-Probe": "1"}, Body: `{"sku":1}`},
		}, 3)
		wantAll(t, got, history.OK)
	}
}

func TestInvalidRequests(t *testing.T) {
	for name, r := range map[string]request.Request{
		"a method with a space": {Method: "GET /"}, "a header with a line break": {Headers: map[string]string{"X": "a\nb"}},
		"a header of the client": {Headers: map[string]string{"content-length": "3"}}, "a host with a path": {Host: "a/b"},
		"an authority that is none": {TLS: &request.TLS{CA: "no PEM"}}, "a body that is too long": {Body: strings.Repeat("x", 1<<20+1)},
	} {
		l := Lane{Lane: history.LaneFresh, Target: "http://a/", Rate: 1, Request: r}
		if err := (Plan{ID: "p", Lanes: []Lane{l}}).Validate(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// talking is a TCP server.
func talking(t *testing.T, serve func(n int, c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(n, c)
		}
	}()
	return "tcp://" + l.Addr().String()
}

// pong answers each line, as Redis answers PING.
func pong(_ int, c net.Conn) {
	defer c.Close() //nolint:errcheck // of a test
	for lines := bufio.NewScanner(c); lines.Scan(); {
		_, _ = io.WriteString(c, "+PONG\r\n")
	}
}

func TestTCP(t *testing.T) {
	ping := Lane{Expect: expect.Answer{Status: []int{200}, Contains: "+PONG"}, Request: request.Request{Body: "PING\r\n"}}
	closes := func(_ int, c net.Conn) { _ = c.Close() }
	for name, test := range map[string]struct {
		lane  history.Lane
		serve func(int, net.Conn)
		want  history.Outcome
	}{
		"answers":                     {LaneTCP, pong, history.OK},
		"answers on kept connections": {LaneTCPKept, pong, history.OK},
		"closes without a word":       {LaneTCP, func(_ int, c net.Conn) { _, _ = bufio.NewReader(c).ReadString('\n'); _ = c.Close() }, history.ClosedEarly},
		"answers something else": {LaneTCP, func(_ int, c net.Conn) {
			_, _ = bufio.NewReader(c).ReadString('\n')
			_, _ = io.WriteString(c, "-ERR\r\n")
			_ = c.Close()
		}, history.Truncated},
	} {
		t.Run(name, func(t *testing.T) {
			l := ping
			l.Lane, l.Target = test.lane, talking(t, test.serve)
			got, _ := outcomesOf(t, l, 5)
			wantAll(t, got, test.want)
		})
	}
	t.Run("a connection alone", func(t *testing.T) {
		got, _ := outcomesOf(t, Lane{Lane: LaneTCP, Target: talking(t, closes), Expect: expect.Answer{Status: []int{200}}}, 3)
		wantAll(t, got, history.OK)
	})
	t.Run("nobody listens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		_ = l.Close()
		got, row := outcomesOf(t, Lane{Lane: LaneTCP, Target: "tcp://" + address, Expect: expect.Answer{Status: []int{200}}}, 2)
		wantAll(t, got, history.Refused)
		if row.Addr != address {
			t.Errorf("address %q, want %q", row.Addr, address)
		}
	})
}

// A server that ends an idle connection costs its client nothing: the next request makes another.
func TestAKeptConnectionThatTheServerEndsIsReplaced(t *testing.T) {
	left := make(chan struct{}, 100)
	target := talking(t, func(_ int, c net.Conn) {
		_, _ = bufio.NewReader(c).ReadString('\n')
		_, _ = io.WriteString(c, "+PONG\r\n")
		_ = c.Close()
		left <- struct{}{}
	})
	l := testLane(t, Lane{
		Lane: LaneTCPKept, Target: target, Rate: 1, Connections: 1, Timeouts: roomy,
		Expect: expect.Answer{Status: []int{200}, Contains: "+PONG"}, Request: request.Request{Body: "PING\r\n"},
	})
	s := l.transport.sender(l)
	for k := range uint64(3) {
		s.send(k, l.record.now())
		<-left
		time.Sleep(20 * time.Millisecond) // until the end of the connection has arrived
	}
	for i, row := range rowsOf(t, l.record) {
		if row.Outcome != history.OK || row.Reused {
			t.Errorf("request %d: %s, reused %t: %s", i, row.Outcome, row.Reused, row.Err)
		}
	}
}

func TestHealthChecks(t *testing.T) { onHTTP2(t, testHealthChecks) }

func testHealthChecks(t *testing.T, kind LaneKind) {
	checks := health.NewServer()
	var options []grpc.ServerOption
	trust := (*request.TLS)(nil)
	if kind.Protocol == protocolH2 {
		options, trust = append(options, grpc.Creds(credentials.NewTLS(identified(t, "h2")))), &request.TLS{CA: authority(t)}
	}
	server := grpc.NewServer(options...)
	grpc_health_v1.RegisterHealthServer(server, checks)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	checks.SetServingStatus("orders", grpc_health_v1.HealthCheckResponse_SERVING)
	checks.SetServingStatus("cart", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	for service, want := range map[string]struct {
		outcome history.Outcome
		text    string
	}{
		"": {history.OK, ""}, "orders": {history.OK, ""},
		"cart": {history.WrongBody, "the health check says NOT_SERVING"}, "nobody": {history.WrongBody, "gRPC status 5"},
	} {
		asked := request.Health(service)
		asked.Host, asked.TLS = "example.com", trust
		got, row := outcomesOf(t, Lane{
			Lane: kind.Name, Target: kind.schemes()[0] + "://" + l.Addr().String() + request.HealthPath, Connections: 1, Request: asked,
			Expect: expect.Answer{Status: []int{200}, Serving: true},
		}, 3)
		wantAll(t, got, want.outcome)
		if !strings.Contains(row.Err, want.text) || row.Addr != l.Addr().String() || row.Reused != (kind.Connections != PerRequest) {
			t.Errorf("service %q: %+v, want %q in it", service, row, want.text)
		}
	}
}

// translated says that every connection leads to one server.
type translated netip.AddrPort

func (s translated) Server(port uint16, _ netip.AddrPort) (netip.AddrPort, bool) {
	return netip.AddrPort(s), port != 0
}

// What the kernel says of a connection is in the row, also of one that failed.
func TestRowsNameTheServerBehindAConnection(t *testing.T) {
	d := &dialer{shared: &sharedDialer{flows: translated(netip.MustParseAddrPort("10.244.1.7:80"))}}
	from, to := &net.TCPAddr{IP: net.IPv4(10, 244, 0, 2), Port: 12345}, &net.TCPAddr{IP: net.IPv4(10, 96, 0, 9), Port: 80}
	if got := d.behind(from, to); got != "10.244.1.7:80" {
		t.Errorf("behind a connection: %s", got)
	}
	if got := d.behind(from, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}); got != "127.0.0.1:80" {
		t.Errorf("behind a connection of this pod to itself: %s", got)
	}
	failed := d.failed(&net.OpError{Op: "dial", Net: "tcp", Source: from, Addr: to, Err: net.ErrClosed})
	if lost, is := errors.AsType[*lostConn](failed); !is || lost.addr != "10.244.1.7:80" {
		t.Errorf("a connection that could not be made: %#v", failed)
	}
}

// A kept connection that breaks while nothing is asked costs its client the next request: a client that has pooled it gets an error on it, too.
func TestAKeptConnectionThatBreaksCostsARequest(t *testing.T) {
	asked := make(chan struct{}, 1)
	reset := func(c net.Conn) {
		<-asked
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
	answer := func(n int, c net.Conn) {
		if n > 0 {
			pong(n, c)
			return
		}
		_, _ = bufio.NewReader(c).ReadString('\n')
		_, _ = io.WriteString(c, "+PONG\r\n")
		reset(c)
	}
	silent := chatting(t, func(n int, c *websocket.Conn) {
		if n == 0 {
			<-asked
			return // without a close message
		}
		hears(c)
	})
	silent.Start()
	opened := speaking(LaneWSKept, silent)
	opened.Expect, opened.Request.Body = expect.Answer{Status: []int{200}}, ""
	ping := Lane{Lane: LaneTCPKept, Expect: expect.Answer{Status: []int{200}, Contains: "+PONG"}, Request: request.Request{Body: "PING\r\n"}}
	listens := func(n int, c net.Conn) {
		if n == 0 {
			reset(c)
		}
	}
	for name, test := range map[string]struct {
		lane   Lane
		target string
		want   history.Outcome
	}{
		"a reset after an answer":                     {ping, talking(t, answer), history.Reset},
		"a reset where a connection alone is asked":   {Lane{Lane: LaneTCPKept, Expect: expect.Answer{Status: []int{200}}}, talking(t, listens), history.Reset},
		"a WebSocket that says nothing, and is ended": {opened, opened.Target, history.ClosedEarly},
	} {
		t.Run(name, func(t *testing.T) {
			l := test.lane
			l.Target, l.Rate, l.Connections, l.Timeouts = test.target, 1, 1, roomy
			running := testLane(t, l)
			s := running.transport.sender(running)
			s.send(0, running.record.now())
			asked <- struct{}{}
			time.Sleep(50 * time.Millisecond) // until the end has arrived
			s.send(1, running.record.now())
			s.send(2, running.record.now())
			rows := rowsOf(t, running.record)
			if rows[0].Outcome != history.OK || rows[1].Outcome != test.want || !rows[1].Reused || rows[2].Outcome != history.OK || rows[2].Reused {
				t.Errorf("want ok, %s on the kept connection, and ok on another:\n%+v\n%+v\n%+v", test.want, rows[0], rows[1], rows[2])
			}
		})
	}
}
