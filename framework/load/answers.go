package load

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/message"
	"github.com/holdfast-ha/holdfast/framework/load/outcome"
)

// send sends a message. If that fails it closes the connection, and the goroutine that reads it fails the message.
func (s *bidiStream) send(id string, limit time.Duration) *inFlight {
	s.sent++
	m := &inFlight{id: id, nth: s.sent, result: make(chan result, 1)}
	s.waiting = append(s.waiting, m)
	if s.astray != "" {
		m.end(history.WrongBody, s.astray)
		s.astray, s.late[id] = "", true
	}
	if err := s.messages.Send(id, limit); err != nil {
		_ = s.conn.Close()
	}
	return m
}

// answer handles an answer. Messages that were sent before the answered one, and have no answer yet, were skipped.
func (s *bidiStream) answer(text string) {
	body, count, _ := lastField(text)
	id := strings.TrimPrefix(body, "ok ")
	i := slices.IndexFunc(s.waiting, func(m *inFlight) bool { return m.id == id })
	counted, err := strconv.Atoi(count)
	if i < 0 || err != nil || id == body {
		s.stray(id, text)
		return
	}
	for _, m := range s.waiting[:i] {
		s.skipped++
		s.late[m.id] = true
		m.end(history.Skipped, fmt.Sprintf("skipped: a later message was answered, number %d of the connection by the server's count, %d by ours",
			counted, s.waiting[i].nth))
	}
	m := s.waiting[i]
	s.waiting = s.waiting[i+1:]
	delete(s.late, id)
	if lag := m.nth - counted; lag < s.lag || lag > s.skipped {
		m.end(history.WrongBody, fmt.Sprintf("want %q, got %.100q", fmt.Sprintf("ok %s %d", id, m.nth-s.lag), text))
	} else {
		s.lag = lag
	}
	m.end(history.OK, "")
}

func lastField(text string) (before, last string, ok bool) {
	at := strings.LastIndexByte(text, ' ')
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+1:], true
}

// stray handles an answer that matches no waiting message. It fails the first message that still waits, or else the next one. A
// late answer to a message that was given up is no error.
func (s *bidiStream) stray(id, text string) {
	if s.late[id] {
		delete(s.late, id)
		s.skipped--
		s.lag = min(s.lag, s.skipped)
		return
	}
	for _, m := range s.waiting {
		if !m.over {
			m.end(history.WrongBody, fmt.Sprintf("want %q, got %.100q", fmt.Sprintf("ok %s %d", m.id, m.nth-s.lag), text))
			s.late[m.id] = true
			return
		}
	}
	s.astray = fmt.Sprintf("an answer to no message came before it: %.100q", text)
}

// ended handles the end of a connection. Messages that wait fail. If none waits and there was no close message, the next
// message of the connection's turn fails.
func (d *bidiTransport) ended(s *bidiStream, err error) {
	if !d.all[s] {
		return // the stream was left before
	}
	outcome, text := s.outcomeOf(err), endText(err)
	alone := true
	for _, m := range s.waiting {
		if !m.over {
			alone = false
			m.end(outcome, text)
		}
		if outcome == history.Truncated {
			outcome = history.ClosedEarly // no byte of the later answers has arrived
		}
	}
	_ = s.conn.Close()
	if alone && !s.leaving && !errors.Is(err, message.ErrClose) {
		s.broken = err
		return
	}
	d.drop(s)
}

// endText describes a connection's end. The words are the same for a message that was sent before the end was noticed and for one
// that was to be sent later: which of the two it is depends on how busy this machine is.
func endText(err error) string {
	if errors.Is(err, message.ErrClose) || errors.Is(err, message.ErrCut) {
		return outcome.Text(err)
	}
	return "the connection ended without a close message: " + outcome.Text(err)
}

// outcomeOf returns the outcome of a connection's end.
func (s *bidiStream) outcomeOf(err error) history.Outcome {
	at := outcome.Waiting
	switch {
	case errors.Is(err, message.ErrClose):
		return history.GoAway
	case errors.Is(err, message.ErrCut):
		at = outcome.Reading
	}
	found := history.Other
	if why := s.conn.Broke(); why != nil {
		found = outcome.Of(why, at)
	}
	if found == history.Other { // for example a close frame with another code
		found = history.ClosedEarly
	}
	return found
}

// refused fills in the row of a message for which no connection could be made.
func (s *bidiStream) refused(row *history.Request) {
	at := outcome.Connecting
	if s.conn != nil {
		at = outcome.Waiting
		s.fill(row)
	} else {
		row.Addr = dialled(s.err)
	}
	row.Outcome, row.Err = outcome.Of(s.err, at), outcome.Text(s.err)
	switch {
	case s.status != 0:
		row.Outcome, row.Status, row.Err = history.BadStatus, s.status, "status "+strconv.Itoa(s.status)
	case s.conn != nil && s.conn.Broke() != nil:
		if o := outcome.Of(s.conn.Broke(), at); o != history.Other {
			row.Outcome = o
		}
	}
}

// fill adds the connection to a row, and the server that answers on it.
func (s *bidiStream) fill(row *history.Request) {
	row.Conn, row.Addr = s.conn.id, s.conn.addr
	if row.Outcome != history.OK {
		infer(row, s.conn)
	} else if who := s.conn.server.Load(); who != nil {
		who.fill(row)
	}
}
