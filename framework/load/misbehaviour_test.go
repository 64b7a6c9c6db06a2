package load

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/request"
)

// misbehaviour is a misbehaviour of a server on a lane, and the expected outcome of the last of so many requests.
type misbehaviour struct {
	serve    script
	requests int
	quick    func(*Timeouts) // shortens the time-out that is to pass
	want     history.Outcome
	err      string // a part of the row's text
	// never is why the misbehaviour cannot happen on this lane; the test then skips it.
	never string
}

// misbehaviourNames are what each lane must distinguish.
var misbehaviourNames = []string{
	"refuses connections", "no connection in time", "resets", "closes early", "no answer in time", "stalls", "cuts the answer off",
	"wrong body", "bad status", "goes away meanwhile", "breaks an idle connection", "refuses a request it has not begun",
	"skips an answer",
}

// misbehaviours returns what servers of a lane's protocol can do wrong.
func misbehaviours(kind LaneKind) map[string]misbehaviour {
	switch kind.Protocol {
	case "HTTP/1.1":
		if kind.Connections == PerRequest {
			return http1Misbehaviours("each request has a connection of its own, which has never been idle")
		}
		return http1Misbehaviours("")
	case protocolH2C, protocolH2:
		return http2Misbehaviours(kind.Connections == PerRequest)
	case "gRPC":
		return grpcMisbehaviours()
	}
	if kind.Name == LaneSocket {
		return socketMisbehaviours()
	}
	return nil
}

func quickConnect(l *Timeouts) { l.Connect = 100 * time.Millisecond }

// quickResponse and quickRequest have time for the connection, its TLS handshake and the head of an answer, which must have arrived before they pass.
func quickResponse(l *Timeouts) { l.Response = 3 * time.Second }
func quickRequest(l *Timeouts)  { l.Request = 3 * time.Second }

// everywhere adds the misbehaviours that do not depend on the protocol.
func everywhere(of map[string]misbehaviour) map[string]misbehaviour {
	of["refuses connections"] = misbehaviour{want: history.Refused, err: "connect: connection refused"}
	of["no connection in time"] = misbehaviour{want: history.TimeoutConnect, quick: quickConnect}
	return of
}

// http1Misbehaviours happen to the first request of a connection, except those that need a used connection: net/http retries a request
// whose used connection breaks before the response.
func http1Misbehaviours(neverIdle string) map[string]misbehaviour {
	once := func(do func(n int, c *exchange)) script {
		return func(_ *testing.T, n int, c *exchange) {
			c.request()
			do(n, c)
		}
	}
	const http1 = "HTTP/1.1 knows no such thing"
	return everywhere(map[string]misbehaviour{
		"resets":              {want: history.Reset, err: "reset by peer", serve: once(func(_ int, c *exchange) { c.resets() })},
		"closes early":        {want: history.ClosedEarly, err: "EOF", serve: once(func(int, *exchange) {})},
		"no answer in time":   {want: history.TimeoutResponse, quick: quickResponse, serve: once(func(_ int, c *exchange) { c.waits() })},
		"stalls":              {want: history.Stall, quick: quickRequest, serve: once(func(n int, c *exchange) { c.head(200, 100, pod(n)...); c.waits() })},
		"cuts the answer off": {want: history.Truncated, serve: once(func(n int, c *exchange) { c.head(200, 100, pod(n)...); _, _ = io.WriteString(c, "ok") })},
		"wrong body": {want: history.WrongBody, err: `got "no\n"`, serve: once(func(n int, c *exchange) {
			c.head(200, 3, pod(n)...)
			_, _ = io.WriteString(c, "no\n")
		})},
		"bad status":          {want: history.BadStatus, err: "status 503", serve: once(func(n int, c *exchange) { c.head(503, 0, pod(n)...) })},
		"goes away meanwhile": {never: http1},
		"skips an answer":     {never: unordered},
		"breaks an idle connection": {
			requests: 2, want: history.Masked, never: neverIdle, err: "its connection ended (EOF)",
			serve: func(_ *testing.T, n int, c *exchange) {
				c.answers(n)
				c.request()
			},
		},
		"refuses a request it has not begun": {never: http1},
	})
}

// unordered is why answers cannot be skipped: a late answer says nothing about other requests.
const unordered = "answers have no order"

func http2Misbehaviours(fresh bool) map[string]misbehaviour {
	of := everywhere(map[string]misbehaviour{
		"resets":              {want: history.Reset, serve: overH2(func(s *h2, _ uint32, _ int) { s.resets() })},
		"closes early":        {want: history.ClosedEarly, err: "unexpected EOF", serve: overH2(func(*h2, uint32, int) {})},
		"no answer in time":   {want: history.TimeoutResponse, quick: quickResponse, serve: overH2(func(s *h2, _ uint32, _ int) { s.waits() })},
		"stalls":              {want: history.Stall, quick: quickRequest, serve: overH2(func(s *h2, id uint32, n int) { s.begins(id, 200, 100, n); s.waits() })},
		"cuts the answer off": {want: history.Truncated, serve: overH2(func(s *h2, id uint32, n int) { s.begins(id, 200, 100, n) })},
		"wrong body": {want: history.WrongBody, err: `got "no\n"`, serve: overH2(func(s *h2, id uint32, n int) {
			s.begins(id, 200, 3, n)
			_ = s.WriteData(id, true, []byte("no\n"))
			s.waits()
		})},
		"bad status": {want: history.BadStatus, err: "status 503", serve: overH2(func(s *h2, id uint32, _ int) {
			s.respond(id, true, ":status: 503")
			s.waits()
		})},
		"goes away meanwhile": {want: history.GoAway, err: "http2: server sent GOAWAY and closed the connection: ErrCode=NO_ERROR", serve: overH2(func(s *h2, id uint32, _ int) {
			_ = s.WriteGoAway(id, http2.ErrCodeNo, nil)
		})},
		"skips an answer": {never: unordered},
		// Go's client notices the end before it writes the next request. A request that is written at the same moment ends with
		// the connection.
		"breaks an idle connection": {never: "a request whose connection has ended is written to another, for the first time"},
		// net/http may have opened a connection more for the second request, and closed it unused, so the pod's number is not known.
		"refuses a request it has not begun": {want: history.Masked, requests: 2, err: "answered by pod-", serve: func(_ *testing.T, n int, c *exchange) {
			s := c.asH2()
			if s.answersH2(n); n == 0 {
				_, _ = s.stream()
				_ = s.WriteGoAway(1, http2.ErrCodeNo, nil) // only the first was processed
			}
			s.answersH2(n)
			s.waits()
		}},
	})
	if fresh {
		of["breaks an idle connection"] = misbehaviour{never: "each request has a connection of its own, which has never been idle"}
		// net/http's Transport would send such a request again, and again, as long as the server refuses it.
		of["refuses a request it has not begun"] = misbehaviour{want: history.GoAway, err: "GOAWAY", serve: overH2(func(s *h2, _ uint32, _ int) {
			_ = s.WriteGoAway(0, http2.ErrCodeNo, nil)
			s.waits()
		})}
	}
	return of
}

// tabled are the lanes of the table. Those of TCP and WebSockets of others have tests of their own.
func tabled() []LaneKind {
	return append(slices.Clone(Lanes), slices.DeleteFunc(slices.Clone(ForeignLanes), func(k LaneKind) bool { return !k.HTTP2() })...)
}

// Each lane distinguishes all misbehaviours, except those that cannot happen on it.
func TestLanesTellMisbehavioursApart(t *testing.T) {
	for _, kind := range tabled() {
		of := misbehaviours(kind)
		for _, name := range misbehaviourNames {
			d, known := of[name]
			if !known {
				t.Errorf("lane %s: no entry for a server that %s", kind.Name, name)
			}
			if !known || d.never != "" {
				continue
			}
			t.Run(fmt.Sprint(kind.Name, " ", name), func(t *testing.T) {
				t.Parallel()
				d.check(t, kind)
			})
		}
		for name := range of {
			if !slices.Contains(misbehaviourNames, name) {
				t.Errorf("%s: %q is not in the list of misbehaviours", kind.Name, name)
			}
		}
	}
}

func (d misbehaviour) check(t *testing.T, kind LaneKind) {
	limits := roomy
	if d.quick != nil {
		d.quick(&limits)
	}
	secured := kind.Protocol == protocolH2
	l := Lane{Lane: kind.Name, Target: d.target(t, secured), Rate: 1, Connections: 1, Timeouts: limits}
	if secured {
		l.Request = request.Request{Host: "example.com", TLS: &request.TLS{CA: authority(t)}}
	}
	d.judge(t, testLane(t, l))
}

func (d misbehaviour) judge(t *testing.T, l *lane) {
	t.Helper()
	rows := d.send(t, l)
	for _, r := range rows[:len(rows)-1] {
		if r.Outcome != history.OK {
			t.Errorf("request %d is %s: %s", r.Seq, r.Outcome, r.Err)
		}
	}
	last := rows[len(rows)-1]
	if last.Outcome != d.want || !strings.Contains(last.Err, d.err) || last.Err == "" {
		t.Errorf("%s: %q, want %s, with %q in it", last.Outcome, last.Err, d.want, d.err)
	}
	if last.Outcome == history.Masked && strings.HasSuffix(last.Err, "answered by "+rows[0].Pod) {
		t.Errorf("%s: that pod is at the connection that ended", last.Err)
	}
	if (last.Attempts > 1) != (last.Outcome == history.Masked) || last.Done < last.Sent || last.Sent < last.Due {
		t.Errorf("%+v", last)
	}
	if connected := last.Conn > 0; connected != (d.serve != nil) {
		t.Errorf("its connection is %d", last.Conn)
	}
}

// send sends the requests one after the other, or all at once if an answer is to be skipped.
func (d misbehaviour) send(t *testing.T, l *lane) []history.Request {
	t.Helper()
	if d.want != history.Skipped {
		return sendAll(t, l, max(1, d.requests))
	}
	var all sync.WaitGroup
	for k := range d.requests {
		due := l.record.now()
		all.Go(func() { l.transport.sender(l).send(uint64(k), due) })
	}
	all.Wait()
	rows := rowsOf(t, l.record)
	slices.SortFunc(rows, func(a, b history.Request) int { // the first message sent was skipped
		return cmp.Compare(b.Outcome, a.Outcome)
	})
	slices.Reverse(rows)
	return rows
}

// target returns the URL of the server, of a closed port, or of a listener that does not answer.
func (d misbehaviour) target(t *testing.T, secured bool) string {
	scheme, config := "http://", (*tls.Config)(nil)
	if secured {
		scheme, config = "https://", identified(t, "h2")
	}
	if d.serve == nil && d.want == history.TimeoutConnect {
		return scheme + deaf(t) + "/"
	}
	if d.serve != nil {
		url, _ := listenTLS(t, config, d.serve)
		return url
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	return scheme + l.Addr().String() + "/"
}

// deaf returns the address of a socket that drops packets as a dead node does: a listener with a full queue. macOS takes a queue of 0 for one of 128,
// and its newer versions reset what is too much for a queue. It drops what comes for a socket that is bound and does not listen, which Linux refuses.
func deaf(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	if runtime.GOOS == "darwin" {
		return address
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	first, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() })
	return address
}
