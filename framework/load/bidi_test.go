package load

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// frameServer is the server's end of a WebSocket. Its methods answer well or misbehave on demand.
type frameServer struct{ *exchange }

// webSocketServer reads a client's opening request, and answers it if well is true.
func webSocketServer(c *exchange, n int, well bool) frameServer {
	r, err := http.ReadRequest(c.in)
	if err == nil && well {
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		_, _ = fmt.Fprintf(c, "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n%s\r\n",
			base64.StdEncoding.EncodeToString(sum[:]), headLines(pod(n)))
	}
	return frameServer{c}
}

// receive reads a short frame. Clients mask their frames.
func (s frameServer) receive() (string, bool) {
	var head [6]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return "", false
	}
	text := make([]byte, head[1]&0x7f)
	_, err := io.ReadFull(s.in, text)
	for i := range text {
		text[i] ^= head[2+i%4]
	}
	return string(text), err == nil && head[0]&0xf == websocket.TextMessage
}

func (s frameServer) send(text string) {
	_, _ = s.Write(append([]byte{0x80 | websocket.TextMessage, byte(len(text))}, text...))
}
func (s frameServer) cut()       { _, _ = s.Write([]byte{0x80 | websocket.TextMessage, 50, 'o', 'k'}) }
func (s frameServer) sendClose() { s.closes(websocket.CloseGoingAway) }
func (s frameServer) closes(code uint16) {
	_, _ = s.Write(binary.BigEndian.AppendUint16([]byte{0x80 | websocket.CloseMessage, 2}, code))
	s.waits() // so that the client closes first, and the connection is not reset
}
func (s frameServer) answer(id string, nth int) { s.send(fmt.Sprintf("ok %s %d", id, nth)) }

// socketMisbehaviours are the misbehaviours on held connections, most of them after one message was answered.
func socketMisbehaviours() map[string]misbehaviour {
	after := func(do func(s frameServer)) script {
		return func(_ *testing.T, n int, c *exchange) {
			s := webSocketServer(c, n, true)
			id, _ := s.receive()
			s.answer(id, 1)
			if _, ok := s.receive(); ok {
				do(s)
			}
		}
	}
	const once = "a message is written once"
	return everywhere(map[string]misbehaviour{
		"resets":       {requests: 2, want: history.Reset, err: "reset by peer", serve: after(func(s frameServer) { s.resets() })},
		"closes early": {requests: 2, want: history.ClosedEarly, err: "EOF", serve: after(func(frameServer) {})},
		"no answer in time": {want: history.TimeoutResponse, quick: quickResponse, serve: func(_ *testing.T, n int, c *exchange) {
			webSocketServer(c, n, false).waits() // the opening request is not answered; an unanswered message would be a stall
		}},
		"stalls":              {requests: 2, want: history.Stall, quick: quickResponse, serve: after(func(s frameServer) { s.waits() })},
		"cuts the answer off": {requests: 2, want: history.Truncated, err: "cut off", serve: after(func(s frameServer) { s.cut() })},
		"wrong body":          {requests: 2, want: history.WrongBody, err: `got "ok no 2"`, serve: after(func(s frameServer) { s.answer("no", 2); s.waits() })},
		"bad status": {want: history.BadStatus, err: "status 503", serve: func(_ *testing.T, n int, c *exchange) {
			webSocketServer(c, n, false)
			c.head(503, 0, pod(n)...)
		}},
		"goes away meanwhile": {requests: 2, want: history.GoAway, err: "close message: ", serve: after(func(s frameServer) { s.sendClose() })},
		"breaks an idle connection": {requests: 2, want: history.ClosedEarly, err: "without a close message: ", serve: func(_ *testing.T, n int, c *exchange) {
			s := webSocketServer(c, n, true)
			id, _ := s.receive()
			s.answer(id, 1)
		}},
		"refuses a request it has not begun": {never: once},
		"skips an answer": {requests: 2, want: history.Skipped, err: "number 2 of the connection by the server's count", serve: func(_ *testing.T, n int, c *exchange) {
			s := webSocketServer(c, n, true)
			s.receive()
			id, _ := s.receive()
			s.answer(id, 2)
			s.waits()
		}},
	})
}

// converse sends n messages, one after the other, and returns for each its outcome and its connection.
func converse(t *testing.T, n int, serve func(s frameServer, n int)) (got []string) {
	t.Helper()
	url, _ := listen(t, func(_ *testing.T, n int, c *exchange) { serve(webSocketServer(c, n, true), n) })
	l := testLane(t, Lane{Lane: LaneSocket, Target: url, Rate: 1, Connections: 1, Timeouts: roomy})
	for _, r := range sendAll(t, l, n) {
		got = append(got, fmt.Sprintf("%s on %d by %s", r.Outcome, r.Conn, r.Pod))
	}
	return got
}

// A server that ends in an orderly way, with no answers missing, causes no failure: the client reconnects.
func TestCloseMessagesAreNoFailures(t *testing.T) {
	for name, end := range map[string]func(s frameServer){
		"a notice":        func(s frameServer) { s.send(backend.Leave); s.receive() },
		"a close message": func(s frameServer) { s.sendClose() },
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan struct{}, 1)
			url, _ := listen(t, func(_ *testing.T, n int, c *exchange) {
				s := webSocketServer(c, n, true)
				for nth := 1; nth < 3; nth++ {
					id, _ := s.receive()
					s.answer(id, nth)
				}
				end(s)
				ended <- struct{}{}
			})
			l := testLane(t, Lane{Lane: LaneSocket, Target: url, Rate: 1, Connections: 1, Timeouts: roomy})
			s := l.transport.sender(l)
			for k := range uint64(6) {
				if k > 0 && k%2 == 0 {
					<-ended
					gone(t, l)
				}
				s.send(k, 0)
			}
			for i, r := range rowsOf(t, l.record) {
				if want := uint64(i/2 + 1); r.Outcome != history.OK || r.Conn != want || r.Pod != fmt.Sprint("pod-", want-1) || r.Reused != (i%2 == 1) {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// gone waits until the client has noticed that the connection ended.
func gone(t *testing.T, l *lane) {
	t.Helper()
	d := l.transport.(*bidiTransport)
	for {
		d.mu.Lock()
		noticed := d.current[0] == nil
		d.mu.Unlock()
		if noticed {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the client never notices")
		case <-time.After(time.Millisecond):
		}
	}
}

// After a leave notice, the client waits for its answers on the connection, sends nothing more on it, and then closes it.
func TestANoticeIsNoEnd(t *testing.T) {
	left := make(chan bool, 1)
	url, _ := listen(t, func(_ *testing.T, n int, c *exchange) {
		s := webSocketServer(c, n, true)
		id, _ := s.receive()
		if n == 0 {
			s.send(backend.Leave)
			stays := s.silent(50 * time.Millisecond)
			s.answer(id, 1)
			_, more := s.receive()
			left <- stays && !more
			return
		}
		s.answer(id, 1)
		s.waits()
	})
	l := testLane(t, Lane{Lane: LaneSocket, Target: url, Rate: 1, Connections: 1, Timeouts: roomy})
	for i, r := range sendAll(t, l, 2) {
		if r.Outcome != history.OK || r.Conn != uint64(i+1) {
			t.Errorf("%+v", r)
		}
	}
	if !<-left {
		t.Error("the client did not wait for its answer, or sent another message after the leave notice")
	}
}

// A close frame with a code other than ask.Orderly is no orderly end.
func TestOtherCloseCodesAreFailures(t *testing.T) {
	got := converse(t, 3, func(s frameServer, n int) {
		id, _ := s.receive()
		if n == 0 {
			s.closes(websocket.CloseInternalServerErr)
			return
		}
		s.answer(id, 1)
		if id, ok := s.receive(); ok {
			s.answer(id, 2)
		}
		s.waits()
	})
	if want := "closed-early on 1 by pod-0, ok on 2 by pod-1, ok on 2 by pod-1"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAnswers checks the outcomes of messages that were sent one after the other, for given answers.
func TestAnswers(t *testing.T) {
	tests := map[string]struct {
		sent    int
		answers []string
		want    []history.Outcome // empty: still waiting
	}{
		"in order":                    {3, []string{"ok a 1", "ok b 2", "ok c 3"}, []history.Outcome{history.OK, history.OK, history.OK}},
		"one is lost on the way":      {3, []string{"ok a 1", "ok c 2"}, []history.Outcome{history.OK, history.Skipped, history.OK}},
		"one is lost on the way back": {3, []string{"ok a 1", "ok c 3"}, []history.Outcome{history.OK, history.Skipped, history.OK}},
		"out of order":                {3, []string{"ok b 1", "ok a 2", "ok c 3"}, []history.Outcome{history.Skipped, history.OK, history.OK}},
		"counted twice":               {2, []string{"ok a 1", "ok b 3"}, []history.Outcome{history.OK, history.WrongBody}},
		"not counted":                 {2, []string{"ok a 1", "ok b 1"}, []history.Outcome{history.OK, history.WrongBody}},
		"answered twice":              {3, []string{"ok a 1", "ok a 1", "ok b 2", "ok c 3"}, []history.Outcome{history.OK, history.WrongBody, history.OK}},
		"one answer too many":         {1, []string{"ok a 1", "ok a 1"}, []history.Outcome{history.OK}},
		"no answer":                   {2, []string{"hello"}, []history.Outcome{history.WrongBody, ""}},
		"another's":                   {2, []string{"ok z 1", "ok b 2"}, []history.Outcome{history.WrongBody, history.OK}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := &bidiStream{late: map[string]bool{}, messages: &mute{}}
			var messages []*inFlight
			for i := range test.sent {
				messages = append(messages, s.send(string(rune('a'+i)), time.Second))
			}
			for _, text := range test.answers {
				s.answer(text)
			}
			for i, m := range messages {
				var got history.Outcome
				if m.over {
					got = (<-m.result).outcome
				}
				if got != test.want[i] {
					t.Errorf("message %d is %q, want %q", i, got, test.want[i])
				}
			}
			if name == "one answer too many" {
				m := s.send("b", time.Second)
				if r := <-m.result; r.outcome != history.WrongBody || !strings.Contains(r.err, `an answer to no message came before it: "ok a 1"`) {
					t.Errorf("the next message is %+v", r)
				}
			}
		})
	}
}

// mute is a message connection without a server.
type mute struct{}

func (*mute) Receive() (string, error)         { select {} }
func (*mute) Send(string, time.Duration) error { return nil }
func (*mute) Close()                           {}

// A message that stalls fails after its time-out, and its connection is given up. Messages behind it have their own time-outs.
func TestAStallMovesTheNextMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := Timeouts{Connect: time.Second, Response: 3 * time.Second, Request: 5 * time.Second}
		l := testLane(t, Lane{Lane: LaneSocket, Target: "http://pipe.test/", Rate: 1, Connections: 1, Timeouts: limits})
		d := l.transport.(*bidiTransport)
		quiet := silentStream(2)
		other := silentStream(3)
		d.current[0], d.all[quiet], d.all[other] = quiet, true, true
		var ended []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			for k, at := range []time.Duration{0, 2 * time.Second} {
				time.Sleep(at)
				go func() {
					l.transport.sender(l).send(uint64(k), l.record.now())
				}()
			}
			time.Sleep(10 * time.Second)
		}()
		<-done
		for _, r := range rowsOf(t, l.record) {
			ended = append(ended, fmt.Sprintf("%d %s on %d after %s", r.Seq, r.Outcome, r.Conn, r.Done-r.Sent))
		}
		if got, want := strings.Join(ended, ", "), "0 stall on 2 after 3s, 1 stall on 2 after 3s"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if d.current[0] != nil || d.all[quiet] {
			t.Error("the stalled connection still takes messages")
		}
		d.drop(other)
	})
}

// A connection that breaks while it is idle fails the next message, in the same words whether that message was sent before or after
// the client noticed.
func TestABreakHasOneText(t *testing.T) {
	const want = "the connection ended without a close message: EOF"
	broken := func(t *testing.T) (*lane, *bidiTransport, *bidiStream) {
		l := testLane(t, Lane{Lane: LaneSocket, Target: "http://pipe.test/", Rate: 1, Connections: 1, Timeouts: roomy})
		d, s := l.transport.(*bidiTransport), silentStream(1)
		s.conn.Conn, _ = net.Pipe()
		s.conn.breaks(io.EOF)
		d.current[0], d.all[s] = s, true
		return l, d, s
	}
	t.Run("sent before", func(t *testing.T) {
		_, d, s := broken(t)
		m := s.send("a", time.Second)
		d.received(s, "", io.EOF)
		if r := <-m.result; r.outcome != history.ClosedEarly || r.err != want {
			t.Errorf("%+v", r)
		}
	})
	t.Run("sent after", func(t *testing.T) {
		l, d, s := broken(t)
		d.received(s, "", io.EOF)
		if r := sendAll(t, l, 1)[0]; r.Outcome != history.ClosedEarly || r.Err != want || r.Conn != 1 {
			t.Errorf("%+v", r)
		}
	})
}

// silentStream returns a stream whose server never answers.
func silentStream(id uint64) *bidiStream {
	s := &bidiStream{ready: make(chan struct{}), dialled: make(chan struct{}), late: map[string]bool{}, messages: &mute{}, conn: &conn{id: id}}
	close(s.ready)
	close(s.dialled)
	return s
}
