package load

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/ask"
	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// chatting is a WebSocket server that knows nothing of holdfast. It serves connection n, from 0.
func chatting(t *testing.T, serve func(n int, c *websocket.Conn)) *httptest.Server {
	t.Helper()
	var n atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		upgrade := websocket.Upgrader{Subprotocols: []string{"chat.v1"}}
		if r.Header.Get("X-Probe") != "1" || r.Host != "chat.example.com" || r.URL.Path != "/socket" {
			http.Error(w, "who is that?", http.StatusForbidden)
			return
		}
		c, err := upgrade.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer c.Close() //nolint:errcheck // of a test
		serve(int(n.Add(1))-1, c)
	}))
	t.Cleanup(server.Close)
	return server
}

// speaking is the lane of a probe of a server.
func speaking(lane history.Lane, s *httptest.Server) Lane {
	return Lane{
		Lane: lane, Target: strings.Replace(s.URL, "http", "ws", 1) + "/socket", Connections: 1,
		Expect:  expect.Answer{Status: []int{200}, Contains: "pong"},
		Request: request.Request{Host: "chat.example.com", Headers: map[string]string{"X-Probe": "1", "Sec-WebSocket-Protocol": "chat.v1"}, Body: `{"type":"ping"}`},
	}
}

// hears reads a message; false: there is none.
func hears(c *websocket.Conn) bool {
	_, _, err := c.ReadMessage()
	return err == nil
}

func says(c *websocket.Conn, text string) { _ = c.WriteMessage(websocket.TextMessage, []byte(text)) }

// closes ends a connection with a code, and waits for the client's answer.
func closes(c *websocket.Conn, code int) {
	_ = c.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Minute))
	for hears(c) {
	}
}

func pongs(_ int, c *websocket.Conn) {
	for hears(c) {
		says(c, `{"type":"pong","of":[7]}`)
	}
}

// once answers nothing, but does something when the first message has come.
func once(do func(c *websocket.Conn)) func(int, *websocket.Conn) {
	return func(_ int, c *websocket.Conn) {
		if hears(c) {
			do(c)
		}
	}
}

var wsLanes = []history.Lane{LaneWS, LaneWSKept}

func TestWebSocketsOfOthers(t *testing.T) {
	seven, eight := "7", "8"
	for name, test := range map[string]struct {
		serve  func(int, *websocket.Conn)
		change func(*Lane)
		want   history.Outcome
		text   string
	}{
		"answers": {pongs, nil, history.OK, ""},
		"answers in bytes": {func(_ int, c *websocket.Conn) {
			for hears(c) {
				_ = c.WriteMessage(websocket.BinaryMessage, []byte("pong"))
			}
		}, nil, history.OK, ""},
		"the value":     {pongs, func(l *Lane) { l.Expect.JSON = &expect.JSON{Path: "{.of[0]}", Equals: &seven} }, history.OK, ""},
		"another value": {pongs, func(l *Lane) { l.Expect.JSON = &expect.JSON{Path: "{.of[0]}", Equals: &eight} }, history.WrongBody, `want "8" at {.of[0]}, got "7"`},
		"answers wrong": {once(func(c *websocket.Conn) { says(c, "no") }), nil, history.WrongBody, `want a body with "pong" in it, got "no"`},
		"answers late": {
			once(func(c *websocket.Conn) { time.Sleep(2 * time.Millisecond); says(c, "pong") }),
			func(l *Lane) { l.Expect.Within = time.Millisecond }, history.Late, "the answer came later than 1ms",
		},
		"answers too much":        {once(func(c *websocket.Conn) { says(c, strings.Repeat("pong", 1<<19)) }), nil, history.WrongBody, "got more than 1048576 bytes"},
		"speaks first":            {func(_ int, c *websocket.Conn) { says(c, "hello"); pongs(0, c) }, nil, history.WrongBody, `got "hello"`},
		"closes without a word":   {once(func(*websocket.Conn) {}), nil, history.ClosedEarly, "the connection ended without a close message: EOF"},
		"resets":                  {once(func(c *websocket.Conn) { _ = c.NetConn().(*net.TCPConn).SetLinger(0) }), nil, history.Reset, "without a close message: read: connection reset by peer"},
		"cuts the answer off":     {once(func(c *websocket.Conn) { _, _ = c.NetConn().Write([]byte{0x81, 50, 'p', 'o'}) }), nil, history.Truncated, "the message was cut off: EOF"},
		"goes away meanwhile":     {once(func(c *websocket.Conn) { closes(c, websocket.CloseGoingAway) }), nil, history.GoAway, "close message: websocket: close 1001 (going away)"},
		"restarts meanwhile":      {once(func(c *websocket.Conn) { closes(c, websocket.CloseServiceRestart) }), nil, history.GoAway, "close 1012"},
		"ends with an error":      {once(func(c *websocket.Conn) { closes(c, websocket.CloseInternalServerErr) }), nil, history.ClosedEarly, "websocket: close 1011 (internal server error)"},
		"never answers":           {once(func(c *websocket.Conn) { hears(c) }), quicken, history.TimeoutResponse, "the request's time-out passed"},
		"stops within the answer": {once(func(c *websocket.Conn) { _, _ = c.NetConn().Write([]byte{0x81, 50, 'p', 'o'}); hears(c) }), quicken, history.Stall, "the request's time-out passed"},
		"does not know the path":  {pongs, func(l *Lane) { l.Target += "/other" }, history.BadStatus, "status 403"},
	} {
		for _, lane := range wsLanes {
			t.Run(name+" on "+string(lane), func(t *testing.T) {
				s := chatting(t, test.serve)
				s.Start()
				l := speaking(lane, s)
				if test.change != nil {
					test.change(&l)
				}
				for i, row := range spoken(t, l, 2) {
					if row.Outcome != test.want || !strings.Contains(row.Err, test.text) || row.Addr != s.Listener.Addr().String() || row.Conn == 0 || row.Attempts != 1 {
						t.Errorf("request %d: %+v, want %s with %q", i, row, test.want, test.text)
					}
				}
			})
		}
	}
}

// quicken marks a lane whose time-outs pass.
func quicken(l *Lane) { l.Timeouts = Timeouts{Response: 200 * time.Millisecond} }

// spoken are the rows of n requests, one after the other. No time-out passes unless the lane says so.
func spoken(t *testing.T, l Lane, n int) []history.Request {
	t.Helper()
	l.Rate = 100
	limits := roomy
	if l.Timeouts.Response > 0 {
		limits.Response = l.Timeouts.Response
	}
	l.Timeouts = limits
	if err := (Plan{ID: "p", Lanes: []Lane{l}}).Validate(); err != nil {
		t.Fatal(err)
	}
	return sendAll(t, testLane(t, l), n)
}

// Kept connections are used again, fresh ones are not, and each end is told to the server.
func TestWebSocketsAreKeptOrNot(t *testing.T) {
	for lane, want := range map[history.Lane][]bool{LaneWS: {false, false, false}, LaneWSKept: {false, true, true}} {
		orderly := make(chan bool, 3)
		s := chatting(t, func(_ int, c *websocket.Conn) {
			for {
				_, _, err := c.ReadMessage()
				if err != nil {
					orderly <- websocket.IsCloseError(err, websocket.CloseNormalClosure)
					return
				}
				says(c, "pong")
			}
		})
		s.Start()
		l := speaking(lane, s)
		l.Rate, l.Timeouts = 100, roomy
		running := testLane(t, l)
		var got []bool
		for _, row := range sendAll(t, running, 3) {
			got = append(got, row.Reused)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s is reused (-want +got):\n%s", lane, diff)
		}
		running.transport.close()
		if !<-orderly {
			t.Errorf("%s ends without a close frame", lane)
		}
	}
}

// What happens between two messages costs nothing if it is an orderly end. The message after any other end fails.
func TestAWebSocketThatEndsBetweenMessages(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(c *websocket.Conn)
		want history.Outcome
		text string
	}{
		"normal closure":  {func(c *websocket.Conn) { closes(c, websocket.CloseNormalClosure) }, history.OK, ""},
		"going away":      {func(c *websocket.Conn) { closes(c, websocket.CloseGoingAway) }, history.OK, ""},
		"service restart": {func(c *websocket.Conn) { closes(c, websocket.CloseServiceRestart) }, history.OK, ""},
		"an error":        {func(c *websocket.Conn) { closes(c, websocket.CloseInternalServerErr) }, history.ClosedEarly, "close 1011"},
		"without a word":  {func(*websocket.Conn) {}, history.ClosedEarly, "without a close message"},
		"a second answer": {func(c *websocket.Conn) { says(c, "pong again"); hears(c) }, history.WrongBody, "nothing had asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			s := chatting(t, func(n int, c *websocket.Conn) {
				if n > 0 {
					pongs(n, c)
					return
				}
				if hears(c) {
					says(c, "pong")
					test.end(c)
				}
			})
			s.Start()
			l := speaking(LaneWSKept, s)
			l.Rate, l.Timeouts = 1, roomy
			running := testLane(t, l)
			sending := running.transport.sender(running)
			sending.send(0, running.record.now())
			time.Sleep(100 * time.Millisecond) // until what follows has arrived
			sending.send(1, running.record.now())
			sending.send(2, running.record.now())
			rows := rowsOf(t, running.record)
			if rows[1].Outcome != test.want || !strings.Contains(rows[1].Err, test.text) {
				t.Errorf("the next message: %+v, want %s with %q", rows[1], test.want, test.text)
			}
			if rows[0].Outcome != history.OK || rows[2].Outcome != history.OK || rows[2].Conn == rows[0].Conn {
				t.Errorf("the first is %+v, the last %+v", rows[0], rows[2])
			}
		})
	}
}

// A close frame and the next message may cross. Then the message was sent, and is lost; or else it was not, and goes over another
// connection. It is never anything else.
func TestMessagesThatCrossACloseFrame(t *testing.T) {
	s := chatting(t, func(_ int, c *websocket.Conn) {
		if hears(c) {
			says(c, "pong")
			_ = c.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseGoingAway, ""), time.Now().Add(time.Minute))
		}
	})
	s.Start()
	answered := 0
	for _, row := range spoken(t, speaking(LaneWSKept, s), 300) {
		switch {
		case row.Outcome == history.OK && !row.Reused:
			answered++
		case row.Outcome != history.GoAway || !row.Reused:
			t.Errorf("%+v", row)
		}
	}
	if answered < 100 {
		t.Errorf("%d of 300 messages are answered", answered)
	}
}

// A slow answer holds up no other message: the next one makes another connection, and is sent when it is due. Both are kept, and take turns.
func TestAMessageWaitsForNoOther(t *testing.T) {
	heard, answer := make(chan struct{}), make(chan struct{})
	s := chatting(t, func(n int, c *websocket.Conn) {
		if n == 0 && hears(c) {
			close(heard)
			<-answer
			says(c, "pong")
		}
		pongs(n, c)
	})
	s.Start()
	l := speaking(LaneWSKept, s)
	l.Rate, l.Timeouts = 1, roomy
	running := testLane(t, l)
	first := make(chan struct{})
	go func() {
		running.transport.sender(running).send(0, running.record.now())
		close(first)
	}()
	<-heard
	running.transport.sender(running).send(1, running.record.now())
	close(answer)
	<-first
	for k := range uint64(3) {
		running.transport.sender(running).send(2+k, running.record.now())
	}
	var got []string
	for _, row := range rowsOf(t, running.record) {
		got = append(got, fmt.Sprintf("message %d on %d: %s", row.Seq, row.Conn, row.Outcome))
	}
	want := []string{"message 1 on 2: ok", "message 0 on 1: ok", "message 2 on 2: ok", "message 3 on 1: ok", "message 4 on 2: ok"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A connection that waits answers pings, as a server asks of its clients.
func TestAKeptWebSocketAnswersPings(t *testing.T) {
	ponged := make(chan struct{})
	s := chatting(t, func(_ int, c *websocket.Conn) {
		c.SetPongHandler(func(string) error { close(ponged); return nil })
		hears(c)
		says(c, "pong")
		_ = c.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Minute))
		hears(c)
	})
	s.Start()
	if rows := spoken(t, speaking(LaneWSKept, s), 1); rows[0].Outcome != history.OK {
		t.Errorf("%+v", rows[0])
	}
	<-ponged
}

// A server of HTTP that speaks no WebSocket, one that answers nothing, and none at all.
func TestServersThatOpenNoWebSocket(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = free.Close()
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer plain.Close()
	swapped := func(reply string) string {
		return strings.Replace(talking(t, func(_ int, c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write([]byte(reply))
			if reply == "" {
				return // and stays open
			}
			_ = c.Close()
		}), "tcp", "ws", 1)
	}
	for name, test := range map[string]struct {
		target string
		want   history.Outcome
		text   string
	}{
		"nobody listens":       {"ws://" + free.Addr().String(), history.Refused, "connection refused"},
		"plain HTTP":           {strings.Replace(plain.URL, "http", "ws", 1), history.BadStatus, "status 200"},
		"another protocol":     {swapped("+PONG\r\n"), history.Other, ""},
		"half a handshake":     {swapped("HTTP/1.1 101 Switch"), history.ClosedEarly, ""},
		"no accepted key":      {swapped("HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"), history.WrongBody, "bad handshake"},
		"no handshake in time": {swapped(""), history.TimeoutResponse, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			l := Lane{Lane: LaneWS, Target: test.target, Expect: expect.Answer{Status: []int{200}}}
			if test.want == history.TimeoutResponse {
				quicken(&l)
			}
			for _, row := range spoken(t, l, 2) {
				if row.Outcome != test.want || !strings.Contains(row.Err, test.text) {
					t.Errorf("%+v, want %s with %q", row, test.want, test.text)
				}
			}
		})
	}
}

// Without a message, a connection is a good answer, or the message with which the server greets.
func TestAWebSocketThatGreets(t *testing.T) {
	s := chatting(t, func(_ int, c *websocket.Conn) { says(c, "welcome"); hears(c) })
	s.Start()
	for contains, want := range map[string]history.Outcome{"": history.OK, "welcome": history.OK, "pong": history.WrongBody} {
		l := speaking(LaneWS, s)
		l.Request.Body, l.Expect.Contains = "", contains
		for _, row := range spoken(t, l, 2) {
			if row.Outcome != want {
				t.Errorf("expecting %q: %+v, want %s", contains, row, want)
			}
		}
	}
}

// What a server says of a Secret is not written down.
func TestWebSocketsKeepSecrets(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := new(websocket.Upgrader).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer c.Close() //nolint:errcheck // of a test
		hears(c)
		if r.URL.Path == "/says" {
			says(c, r.Header.Get("Authorization"))
		} else {
			_ = c.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseGoingAway, r.Header.Get("Authorization")), time.Now().Add(time.Minute))
		}
		hears(c)
	}))
	defer s.Close()
	for _, path := range []string{"/says", "/closes"} {
		l := Lane{
			Lane: LaneWS, Target: strings.Replace(s.URL, "http", "ws", 1) + path, Expect: expect.Answer{Status: []int{200}, Contains: "pong"},
			Request: request.Request{
				Body: "ping", Headers: map[string]string{"Authorization": "s3cret"},
				FromSecret: map[string]request.SecretKey{"Authorization": {Name: "probe", Key: "token"}},
			},
		}
		l.Rate, l.Timeouts = 1, roomy
		for _, row := range sendAll(t, testLane(t, l), 1) {
			if !row.Outcome.Failed() || bytes.Contains([]byte(row.Err), []byte("s3cret")) {
				t.Errorf("%s: %+v", path, row)
			}
		}
	}
}

// A server chooses one of the subprotocols that it is offered, if any are.
func TestSubprotocols(t *testing.T) {
	const none, other = "the server chose none of the subprotocols that it was offered", `the server chose the subprotocol "chat.v1", which it was not offered`
	for name, test := range map[string]struct {
		offered, chosen string
		private         bool
		want            history.Outcome
		text            string
	}{
		"the one":              {"chat.v1", "chat.v1", false, history.OK, ""},
		"one of two":           {"chat.v2, chat.v1", "chat.v1", false, history.OK, ""},
		"none offered":         {"", "", false, history.OK, ""},
		"an empty one offered": {"chat.v1,,", "", false, history.WrongBody, none},
		"none chosen":          {"chat.v1", "", false, history.WrongBody, none},
		"another":              {"chat.v2", "chat.v1", false, history.WrongBody, other},
		"another case":         {"Chat.v1", "chat.v1", false, history.WrongBody, other},
		"one unasked":          {"", "chat.v1", false, history.WrongBody, other},
		"one of a Secret":      {"chat.v2", "chat.v1", true, history.WrongBody, "the server chose another subprotocol than it was offered"},
	} {
		for _, lane := range wsLanes {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var head http.Header
				if test.chosen != "" {
					head = http.Header{"Sec-Websocket-Protocol": {test.chosen}}
				}
				c, err := new(websocket.Upgrader).Upgrade(w, r, head)
				if err != nil {
					return
				}
				defer c.Close() //nolint:errcheck // of a test
				pongs(0, c)
			}))
			t.Cleanup(s.Close)
			l := speaking(lane, s)
			l.Request.Headers = nil
			if test.offered != "" {
				l.Request.Headers = map[string]string{"Sec-WebSocket-Protocol": test.offered}
			}
			if test.private {
				l.Request.FromSecret = map[string]request.SecretKey{"Sec-WebSocket-Protocol": {Name: "probe", Key: "token"}}
			}
			l.Rate, l.Timeouts = 1, roomy
			for _, row := range sendAll(t, testLane(t, l), 2) {
				if row.Outcome != test.want || row.Err != test.text || row.Conn == 0 {
					t.Errorf("%s on %s: %+v, want %s with %q", name, lane, row, test.want, test.text)
				}
			}
		}
	}
}

// A server that ends each new connection in order is asked on a few, and then the request has failed. Its close frame comes before the message
// is sent, or crosses it.
func TestAServerThatEndsEachNewConnection(t *testing.T) {
	ended := func(ctx context.Context, over ask.Link, q ask.Question, until time.Time) (ask.Conn, ask.Result) {
		c, r := ask.Open(ctx, over, q, until)
		_ = poll.Until(ctx, "the close frame", time.Minute, func(context.Context) (bool, string, error) { return c == nil || c.Left(), "", nil })
		return c, r
	}
	for name, test := range map[string]struct {
		open      func(context.Context, ask.Link, ask.Question, time.Time) (ask.Conn, ask.Result)
		opened    int32 // at least
		text, and string
	}{
		"before": {ended, 3 * mostUnasked, unaskedAgain, unaskedAgain},
		"across": {ask.Open, 3, "close message: ", unaskedAgain},
	} {
		for _, lane := range wsLanes {
			var opened atomic.Int32
			s := chatting(t, func(_ int, c *websocket.Conn) {
				opened.Add(1)
				closes(c, websocket.CloseGoingAway)
			})
			s.Start()
			l := speaking(lane, s)
			l.Rate, l.Timeouts = 1, roomy
			running := testLane(t, l)
			running.transport.(*askTransport).open = test.open
			for _, row := range sendAll(t, running, 3) {
				if row.Outcome != history.GoAway || !strings.HasPrefix(row.Err, test.text) && row.Err != test.and {
					t.Errorf("%s on %s: %+v", name, lane, row)
				}
			}
			if n := opened.Load(); n < test.opened || n > 3*mostUnasked {
				t.Errorf("%s on %s: %d connections for 3 requests", name, lane, n)
			}
		}
	}
}
