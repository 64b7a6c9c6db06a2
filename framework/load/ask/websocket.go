package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/deadline"
	"github.com/holdfast-ha/holdfast/framework/load/dial"
	"github.com/holdfast-ha/holdfast/framework/load/outcome"
)

const (
	// maxMessageBytes is the longest answer over a WebSocket.
	maxMessageBytes = 1 << 20
	// partingLimit is how long a server may take to answer a close frame.
	partingLimit = time.Second
)

// orderlyEnds are the close codes of an orderly end.
// Source: https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1
var orderlyEnds = []int{websocket.CloseNormalClosure, websocket.CloseGoingAway, websocket.CloseServiceRestart}

// Orderly reports whether an error of a WebSocket is the close frame of an orderly end.
func Orderly(err error) bool {
	told, is := errors.AsType[*websocket.CloseError](err)
	return is && slices.Contains(orderlyEnds, told.Code)
}

// socket is a WebSocket. A goroutine reads from it all the time, since that is how a client answers pings and notices a close frame.
type socket struct {
	*websocket.Conn
	over    Link
	answers chan []byte   // has room for one
	begun   atomic.Bool   // a message has begun, and is not complete
	ended   chan struct{} // closed after the last message
	why     error         // it ended; to be read once ended is closed
	closing chan struct{}
}

// errCut marks the end of a connection in the middle of a message.
var errCut = errors.New("the message was cut off")

func openSocket(ctx context.Context, over Link, q Question, until time.Time) (Conn, Result) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	d := websocket.Dialer{
		NetDialContext: func(context.Context, string, string) (net.Conn, error) { return over, nil },
		NetDialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial.Secure(ctx, over, q.TLS, time.Until(until))
		},
	}
	header := q.Opening.Header.Clone()
	header.Set("Host", q.Opening.Host)
	made, answer, err := d.DialContext(ctx, q.Opening.URL.String(), header)
	if answer != nil {
		_ = answer.Body.Close() // it is in memory
	}
	if err != nil {
		_ = over.Close()
		if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
			return nil, Result{Outcome: history.BadStatus, Err: "status " + strconv.Itoa(answer.StatusCode), Status: answer.StatusCode}
		}
		r := failed(over, err, outcome.Waiting)
		if answer != nil && r.Outcome == history.Other { // the status is that of a WebSocket, and the rest is not
			r.Outcome = history.WrongBody
		}
		return nil, r
	}
	if wrong := q.wrongSubprotocol(made.Subprotocol()); wrong != "" {
		_ = made.Close() // nothing is asked on it
		return nil, Result{Outcome: history.WrongBody, Err: wrong, Status: answer.StatusCode}
	}
	made.SetReadLimit(maxMessageBytes)
	s := &socket{Conn: made, over: over, answers: make(chan []byte, 1), ended: make(chan struct{}), closing: make(chan struct{})}
	go s.read()
	return s, Result{}
}

// wrongSubprotocol describes what is wrong with the subprotocol that the server chose; empty: nothing. It must be one of those that were
// offered, if any were.
func (q Question) wrongSubprotocol(chosen string) string {
	var offered []string
	for _, line := range q.Opening.Header.Values("Sec-WebSocket-Protocol") {
		for one := range strings.SplitSeq(line, ",") {
			if one = strings.TrimSpace(one); one != "" {
				offered = append(offered, one)
			}
		}
	}
	switch {
	case slices.Contains(offered, chosen), chosen == "" && len(offered) == 0:
		return ""
	case chosen == "":
		return "the server chose none of the subprotocols that it was offered"
	case q.Private:
		return "the server chose another subprotocol than it was offered"
	}
	return fmt.Sprintf("the server chose the subprotocol %.100q, which it was not offered", chosen)
}

// read reads messages until the connection ends.
func (s *socket) read() {
	defer func() { _ = s.Conn.Close() }() // it has ended
	defer close(s.ended)
	for {
		_, message, err := s.NextReader()
		if err != nil {
			s.why = err
			return
		}
		s.begun.Store(true)
		text, err := io.ReadAll(message)
		if err != nil {
			s.why = fmt.Errorf("%w: %w", errCut, err)
			return
		}
		s.begun.Store(false)
		select {
		case s.answers <- text:
		case <-s.closing:
			s.why = net.ErrClosed
			return
		}
	}
}

// Ask implements Conn. Without a message, the server speaks first, if anything is expected of it.
func (s *socket) Ask(q Question, until time.Time) Result {
	if q.Message == "" && q.Expect.Contains == "" && q.Expect.JSON == nil {
		select {
		case <-s.ended: // as a kept one may have since the last request
			return s.endedBefore()
		default:
			return Result{Outcome: history.OK}
		}
	}
	if q.Message != "" {
		if r, over := s.say(q, until); over {
			return r
		}
	}
	return s.await(q, until)
}

// say sends the message. over is true if no answer is to be awaited.
func (s *socket) say(q Question, until time.Time) (r Result, over bool) {
	select {
	case text := <-s.answers:
		r := Result{Outcome: history.WrongBody, Err: "the server sent a message that nothing had asked for, before this request", Bytes: int64(len(text))}
		if wrong := q.Check.Wrong(text); wrong != "" {
			r.Err += ": " + wrong
		}
		return r, true
	default:
	}
	select {
	case <-s.ended:
		return s.endedBefore(), true
	default:
	}
	_ = s.SetWriteDeadline(until) // it does not fail
	switch err := s.WriteMessage(websocket.TextMessage, []byte(q.Message)); {
	case errors.Is(err, websocket.ErrCloseSent): // as the answer to a close frame
		<-s.ended
		return s.endedBefore(), true
	case err != nil && outcome.TimedOut(err):
		return failed(s.over, err, outcome.Waiting), true
	case err != nil:
		_ = s.over.SetReadDeadline(until) // reading ends, and says why
		<-s.ended
		return s.end(), true
	}
	return r, false
}

// await waits for the answer.
func (s *socket) await(q Question, until time.Time) Result {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	var text []byte
	select {
	case text = <-s.answers:
	case <-s.ended:
		select {
		case text = <-s.answers: // which came before the end
		default:
			return s.end()
		}
	case <-timer.C:
		at := outcome.Waiting
		if s.begun.Load() {
			at = outcome.Reading
		}
		return Result{Outcome: outcome.Of(deadline.Passed{}, at), Err: deadline.Passed{}.Error()}
	}
	r := Result{Outcome: history.OK, Bytes: int64(len(text))}
	if wrong := q.Check.Wrong(text); wrong != "" {
		r.Outcome, r.Err = history.WrongBody, wrong
	}
	return r
}

// endedBefore is the result of a question that was not asked, because the connection had ended. An orderly end is no failure.
func (s *socket) endedBefore() Result {
	if Orderly(s.why) {
		return Result{Unasked: true}
	}
	return s.end()
}

// end is the result of a question without an answer on a connection that has ended.
func (s *socket) end() Result {
	var r Result
	switch told, is := errors.AsType[*websocket.CloseError](s.why); {
	case Orderly(s.why):
		return Result{Outcome: history.GoAway, Err: "close message: " + s.why.Error()}
	case errors.Is(s.why, websocket.ErrReadLimit):
		return Result{Outcome: history.WrongBody, Err: fmt.Sprintf("want one message, got more than %d bytes", maxMessageBytes)}
	case errors.Is(s.why, errCut):
		r = s.broke(outcome.Reading)
		r.Err = errCut.Error() + ": " + r.Err
	case is && told.Code != websocket.CloseAbnormalClosure: // a close frame with the code of an error
		return Result{Outcome: history.ClosedEarly, Err: s.why.Error()}
	default:
		if r = s.broke(outcome.Waiting); r.Outcome == history.Other {
			r.Outcome = history.ClosedEarly
		}
		r.Err = "the connection ended without a close message: " + r.Err
	}
	return r
}

// broke is the result by how the connection below broke: the library's own error does not tell a reset from an end.
func (s *socket) broke(at outcome.Stage) Result {
	err := s.why
	if below := s.over.Broke(); below != nil {
		err = below
	}
	return Result{Outcome: outcome.Of(err, at), Err: outcome.Text(err)}
}

// Over implements Conn.
func (s *socket) Over() Link { return s.over }

// Left implements Conn.
func (s *socket) Left() bool {
	select {
	case <-s.ended:
		return Orderly(s.why) && len(s.answers) == 0
	default:
		return false
	}
}

// Close implements Conn. It does not wait: the goroutine that reads gets the server's answer to the close frame, or gives it up.
func (s *socket) Close() {
	close(s.closing)
	until := time.Now().Add(partingLimit)
	_ = s.over.SetReadDeadline(until)
	frame := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	go func() { _ = s.WriteControl(websocket.CloseMessage, frame, until) }() // the connection is closed in any case
}
