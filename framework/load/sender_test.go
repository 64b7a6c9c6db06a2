package load

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/pace"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// The servers below misbehave on demand. A script serves one connection, the n-th, counted from 0.
type script func(t *testing.T, n int, c *exchange)

// exchange is the server's end of a connection.
type exchange struct {
	net.Conn // over TLS where the client's URL says so
	tcp      *net.TCPConn
	in       *bufio.Reader
	broken   bool
}

// request reads a request and returns its id; false when the client has gone.
func (c *exchange) request() (string, bool) {
	r, err := http.ReadRequest(c.in)
	if err != nil {
		return "", false
	}
	return r.Header.Get(backend.HeaderID), true
}

// head sends the head of a response with a body of that length.
func (c *exchange) head(status, length int, headers ...string) {
	_, _ = fmt.Fprintf(c, "HTTP/1.1 %d Status\r\nContent-Length: %d\r\n%s\r\n", status, length, headLines(headers))
}

func headLines(headers []string) string {
	var b strings.Builder
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	return b.String()
}

// pod returns the headers that name the server of the n-th connection.
func pod(n int) []string {
	return []string{
		fmt.Sprintf("X-Holdfast-Pod: pod-%d", n), fmt.Sprintf("X-Holdfast-Node: node-%d", n),
		"X-Holdfast-Zone: a", "X-Holdfast-Revision: r1",
	}
}

// answers answers one request correctly.
func (c *exchange) answers(n int, more ...string) bool {
	id, ok := c.request()
	if ok {
		c.head(200, len("ok \n")+len(id), append(pod(n), more...)...)
		_, _ = io.WriteString(c, "ok "+id+"\n")
	}
	return ok
}

// resets ends the connection by a reset, as a machine does that does not know the connection.
func (c *exchange) resets() {
	c.broken = true
	_ = c.tcp.SetLinger(0)
}

// silent reports whether the client sends nothing for that long, and does not close.
func (c *exchange) silent(span time.Duration) bool {
	_ = c.SetReadDeadline(time.Now().Add(span))
	_, err := c.in.Peek(1)
	_ = c.SetReadDeadline(time.Time{})
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// waits returns when the client has gone.
func (c *exchange) waits() { _, _ = io.Copy(io.Discard, c.in) }

// listen serves each connection with the script, on loopback, and returns the URL.
func listen(t *testing.T, serve script) (string, net.Listener) {
	t.Helper()
	return listenTLS(t, nil, serve)
}

// listenTLS serves over TLS; nil: without.
func listenTLS(t *testing.T, config *tls.Config, serve script) (string, net.Listener) {
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
			go func() {
				defer func() { _ = c.Close() }()
				x := &exchange{Conn: c, tcp: c.(*net.TCPConn)}
				if config != nil {
					x.Conn = tls.Server(c, config)
				}
				x.in = bufio.NewReader(x.Conn)
				if serve(t, n, x); !x.broken {
					_ = x.Conn.(interface{ CloseWrite() error }).CloseWrite()
					_ = x.tcp.CloseWrite()
					_, _ = io.Copy(io.Discard, x.tcp) // closing with unread input would send a reset
				}
			}()
		}
	}()
	if config != nil {
		return "https://" + l.Addr().String() + "/", l
	}
	return "http://" + l.Addr().String() + "/", l
}

// roomy time-outs never pass, even on a busy machine.
var roomy = Timeouts{Connect: time.Minute, Response: time.Minute, Request: time.Minute}

// testLane returns a lane that is ready to send, with a recorder.
func testLane(t *testing.T, l Lane) *lane {
	t.Helper()
	l = l.withDefaults("", history.Share{})
	base := time.Now()
	record := newRecorder(func() history.Offset { return time.Since(base) }, DefaultMaxRows, []Lane{l}, newRowStore(t))
	template, err := l.Request.New(t.Context(), l.Target)
	if err != nil {
		t.Fatal(err)
	}
	made := &lane{
		Lane: l, worker: "w", pacer: pace.Rate(l.Rate), template: template, transport: newTransport(l, &sharedDialer{}, nil),
		record: record, counts: record.lanes[l.Lane], halt: newHalt(),
	}
	t.Cleanup(made.transport.close)
	return made
}

// sendAll sends n requests, one after the other, and returns their rows.
func sendAll(t *testing.T, l *lane, n int) []history.Request {
	t.Helper()
	s := l.transport.sender(l)
	for k := range n {
		s.send(uint64(k), l.record.now())
	}
	return rowsOf(t, l.record)
}

// ok, seen and inferred return expected rows, without times, addresses and texts.
func ok(pod int, conn uint64, reused bool) history.Request {
	return seen(history.OK, pod, history.Request{Status: 200, Attempts: 1, Conn: conn, Reused: reused})
}

func seen(outcome history.Outcome, pod int, r history.Request) history.Request {
	r.Outcome = outcome
	r.Pod, r.Node, r.Zone, r.Revision = fmt.Sprintf("pod-%d", pod), fmt.Sprintf("node-%d", pod), "a", "r1"
	return r
}

func inferred(outcome history.Outcome, pod int, r history.Request) history.Request {
	r.Inferred = true
	return seen(outcome, pod, r)
}

func TestOutcomes(t *testing.T) {
	quick := func(change func(*Timeouts)) Timeouts {
		limits := roomy
		change(&limits)
		return limits
	}
	fresh, reused := history.LaneFresh, history.LaneReused
	tests := []struct {
		name   string
		lane   history.Lane
		limits Timeouts // default roomy
		serve  script
		want   []history.Request
		err    string // a part of the last row's text
	}{
		{
			name: "correct answers on fresh connections", lane: fresh,
			serve: func(_ *testing.T, n int, c *exchange) { c.answers(n) },
			want:  []history.Request{ok(0, 1, false), ok(1, 2, false)},
		},
		{
			name: "correct answers on one connection", lane: reused,
			serve: func(_ *testing.T, n int, c *exchange) {
				for c.answers(n) {
					continue
				}
			},
			want: []history.Request{ok(0, 1, false), ok(0, 1, true), ok(0, 1, true)},
		},
		{
			name: "reset before the response", lane: fresh,
			serve: func(_ *testing.T, _ int, c *exchange) {
				c.request()
				c.resets()
			},
			want: []history.Request{{Outcome: history.Reset, Attempts: 1, Conn: 1}},
			err:  "connection reset by peer",
		},
		{
			name: "reset in the middle of the response", lane: fresh,
			serve: func(_ *testing.T, n int, c *exchange) {
				c.request()
				c.head(200, 100, pod(n)...)
				c.resets()
			},
			want: []history.Request{seen(history.Reset, 0, history.Request{Status: 200, Attempts: 1, Conn: 1})},
			err:  "connection reset by peer",
		},
		{
			name: "closed without a response", lane: fresh,
			serve: func(_ *testing.T, _ int, c *exchange) { c.request() },
			want:  []history.Request{{Outcome: history.ClosedEarly, Attempts: 1, Conn: 1}},
			err:   "EOF",
		},
		{
			name: "closed in the middle of the head", lane: fresh,
			serve: func(_ *testing.T, _ int, c *exchange) {
				c.request()
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-")
			},
			want: []history.Request{{Outcome: history.ClosedEarly, Attempts: 1, Conn: 1}},
			err:  "transport connection broken",
		},
		{
			name: "truncated body", lane: fresh,
			serve: func(_ *testing.T, n int, c *exchange) {
				c.request()
				c.head(200, 100, pod(n)...)
				_, _ = io.WriteString(c, "ok w")
			},
			want: []history.Request{seen(history.Truncated, 0, history.Request{Status: 200, Attempts: 1, Conn: 1, Bytes: 4})},
			err:  "unexpected EOF",
		},
		{
			name: "idle connection reset at the wrong moment", lane: reused,
			serve: func(_ *testing.T, n int, c *exchange) {
				c.answers(n)
				c.request()
				c.resets()
			},
			want: []history.Request{
				ok(0, 1, false),
				inferred(history.Masked, 0, history.Request{Status: 200, Attempts: 2, Conn: 1, Reused: true}),
			},
			err: "its connection ended (read: connection reset by peer); answered by pod-1",
		},
		{
			name: "idle connection closed at the wrong moment", lane: reused,
			serve: func(_ *testing.T, n int, c *exchange) {
				c.answers(n)
				c.request()
			},
			want: []history.Request{
				ok(0, 1, false),
				inferred(history.Masked, 0, history.Request{Status: 200, Attempts: 2, Conn: 1, Reused: true}),
				inferred(history.Masked, 1, history.Request{Status: 200, Attempts: 2, Conn: 2, Reused: true}),
			},
			err: "its connection ended (EOF); answered by pod-2",
		},
		{
			name: "no response on a used connection", lane: reused,
			limits: quick(func(l *Timeouts) { l.Response = time.Second }),
			serve: func(_ *testing.T, n int, c *exchange) {
				c.answers(n)
				c.waits()
			},
			want: []history.Request{
				ok(0, 1, false),
				inferred(history.TimeoutResponse, 0, history.Request{Attempts: 1, Conn: 1, Reused: true}),
			},
			err: "the request's time-out passed",
		},
		{
			name: "behind a gateway a connection does not identify the pod", lane: reused,
			limits: quick(func(l *Timeouts) { l.Response = time.Second }),
			serve: func(_ *testing.T, n int, c *exchange) {
				c.answers(n, "X-Holdfast-Gateway-Tries: 2")
				c.waits()
			},
			want: []history.Request{
				seen(history.OK, 0, history.Request{Status: 200, Attempts: 1, Conn: 1, GatewayTries: 2}),
				{Outcome: history.TimeoutResponse, Attempts: 1, Conn: 1, Reused: true},
			},
		},
		{
			name: "stall in the middle of the body", lane: fresh,
			limits: quick(func(l *Timeouts) { l.Request = time.Second }),
			serve: func(_ *testing.T, n int, c *exchange) {
				c.request()
				c.head(200, 100, pod(n)...)
				_, _ = io.WriteString(c, "ok")
				c.waits()
			},
			want: []history.Request{seen(history.Stall, 0, history.Request{Status: 200, Attempts: 1, Conn: 1, Bytes: 2})},
			err:  "the request's time-out passed",
		},
		{
			name: "wrong body", lane: fresh,
			serve: func(_ *testing.T, n int, c *exchange) {
				c.request()
				c.head(200, 10, pod(n)...)
				_, _ = io.WriteString(c, "ok w/x/99\n")
			},
			want: []history.Request{seen(history.WrongBody, 0, history.Request{Status: 200, Attempts: 1, Conn: 1, Bytes: 10})},
			err:  `want "ok w/fresh/0\n", got "ok w/x/99\n"`,
		},
		{
			name: "endless body", lane: fresh,
			serve: func(_ *testing.T, n int, c *exchange) {
				c.request()
				c.head(200, 1<<40, pod(n)...)
				for line := strings.Repeat("x", 4096); ; {
					if _, err := io.WriteString(c, line); err != nil {
						return
					}
				}
			},
			want: []history.Request{seen(history.WrongBody, 0, history.Request{Status: 200, Attempts: 1, Conn: 1, Bytes: 65536})},
			err:  "the body goes on after 65536 bytes",
		},
		{
			name: "bad status", lane: reused,
			serve: func(_ *testing.T, n int, c *exchange) {
				c.answers(n)
				c.request()
				c.head(503, 0)
				c.waits()
			},
			want: []history.Request{
				ok(0, 1, false),
				inferred(history.BadStatus, 0, history.Request{Status: 503, Attempts: 1, Conn: 1, Reused: true}),
			},
			err: "status 503",
		},
		{
			name: "redirect", lane: fresh,
			serve: func(t *testing.T, n int, c *exchange) {
				if n > 0 {
					t.Error("the redirect was followed")
				}
				c.request()
				c.head(302, 0, append(pod(n), "Location: /elsewhere")...)
			},
			want: []history.Request{seen(history.BadStatus, 0, history.Request{Status: 302, Attempts: 1, Conn: 1})},
			err:  "status 302",
		},
		{
			name: "not HTTP", lane: fresh,
			serve: func(_ *testing.T, _ int, c *exchange) {
				c.request()
				_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n\r\n")
			},
			want: []history.Request{{Outcome: history.Other, Attempts: 1, Conn: 1}},
			err:  "malformed HTTP",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url, _ := listen(t, tt.serve)
			limits := tt.limits
			setDefault(&limits, roomy)
			l := testLane(t, Lane{Lane: tt.lane, Target: url, Rate: 1, Connections: 1, Timeouts: limits})
			got := sendAll(t, l, len(tt.want))
			compareRows(t, tt.want, got, l)
			if last := got[len(got)-1]; !strings.Contains(last.Err, tt.err) {
				t.Errorf("the error is %q, want %q in it", last.Err, tt.err)
			}
		})
	}
}

// compareRows compares rows, after it fills in the fields that are equal in all rows. A row with a connection or an address
// must have the server's address.
func compareRows(t *testing.T, want, got []history.Request, l *lane) {
	t.Helper()
	for i := range want {
		r := &want[i]
		r.Worker, r.Lane, r.Seq = "w", l.Lane.Lane, uint64(i)
		if r.Conn > 0 || r.Addr != "" {
			r.Addr = strings.Trim(strings.TrimPrefix(l.Target, "http:"), "/")
		}
		if r.Outcome == history.OK || r.Outcome == history.Masked {
			r.Bytes = int64(len(fmt.Sprintf("ok w/%s/%d\n", r.Lane, i)))
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(history.Request{}, "Due", "Sent", "Done", "Err")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	for _, r := range got {
		if r.Sent < r.Due || r.Done < r.Sent {
			t.Errorf("request %d was due at %v, sent at %v, done at %v", r.Seq, r.Due, r.Sent, r.Done)
		}
		if (r.Outcome == history.OK) != (r.Err == "") {
			t.Errorf("request %d is %s with text %q", r.Seq, r.Outcome, r.Err)
		}
	}
}

func TestRefused(t *testing.T) {
	url, l := listen(t, func(_ *testing.T, n int, c *exchange) {
		c.answers(n)
		c.request()
		c.resets()
	})
	fresh := testLane(t, Lane{Lane: history.LaneFresh, Target: url, Rate: 1, Timeouts: roomy})
	reused := testLane(t, Lane{Lane: history.LaneReused, Target: url, Rate: 1, Connections: 1, Timeouts: roomy})
	s := reused.transport.sender(reused)
	s.send(0, 0)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	compareRows(t, []history.Request{{Outcome: history.Refused, Addr: "it"}}, sendAll(t, fresh, 1), fresh)

	// The used connection breaks, and net/http's retry is refused: the request was written once, to pod-0.
	s.send(1, 0)
	compareRows(t, []history.Request{
		ok(0, 1, false),
		inferred(history.Refused, 0, history.Request{Attempts: 1, Conn: 1, Reused: true}),
	}, rowsOf(t, reused.record), reused)
}

// A listener with a full queue drops packets, as a dead node does.
func TestTimeoutConnect(t *testing.T) {
	address := deaf(t)
	limits := roomy
	limits.Connect = 100 * time.Millisecond
	l := testLane(t, Lane{Lane: history.LaneFresh, Target: "http://" + address + "/", Rate: 1, Timeouts: limits})
	compareRows(t, []history.Request{{Outcome: history.TimeoutConnect, Addr: "it"}}, sendAll(t, l, 1), l)
}

// Connections are used in turn.
func TestConnectionsTakeTurns(t *testing.T) {
	url, _ := listen(t, func(_ *testing.T, n int, c *exchange) {
		for c.answers(n) {
			continue
		}
	})
	l := testLane(t, Lane{Lane: history.LaneReused, Target: url, Rate: 1, Connections: 3, Timeouts: roomy})
	want := []history.Request{
		ok(0, 1, false), ok(1, 2, false), ok(2, 3, false), ok(0, 1, true), ok(1, 2, true), ok(2, 3, true),
	}
	compareRows(t, want, sendAll(t, l, len(want)), l)
}

// A failed request does not affect the sender's next requests.
func TestSenderRecovers(t *testing.T) {
	url, _ := listen(t, func(_ *testing.T, n int, c *exchange) {
		if n == 0 {
			c.request()
			c.waits()
			return
		}
		c.answers(n)
	})
	limits := roomy
	limits.Response = time.Second
	l := testLane(t, Lane{Lane: history.LaneFresh, Target: url, Rate: 1, Timeouts: limits})
	compareRows(t, []history.Request{
		{Outcome: history.TimeoutResponse, Attempts: 1, Conn: 1}, ok(1, 2, false), ok(2, 3, false),
	}, sendAll(t, l, 3), l)
}
