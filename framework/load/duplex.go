package load

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// duplex is the carrier of lanes that hold each connection for as long as it lasts. Each request is a message on one of the
// connections, which take turns. A message is sent when it is due, whatever became of earlier messages, and the answers come in
// order. When the server asks the client to leave, or does not answer a message in time, the next message of that turn opens
// another connection, and the old one is closed once its answers have arrived. A connection that the server ends with a close
// message and without missing answers is no failure. Any other end fails the messages that wait, or else the next message
// of the turn.
type duplex struct {
	lane   Lane
	dialer *dialer
	open   opener

	mu      sync.Mutex
	present []*session // by turn, the sessions that take messages; nil: the next message begins one
	all     map[*session]bool
}

// line is a connection that carries messages both ways.
type line interface {
	// hear returns the next message. Its error wraps errGoodbye if the server sent a close message.
	hear() (string, error)
	say(message string, limit time.Duration) error
	// leave sends a close message, and closes the connection.
	leave()
}

// opener opens a line on a connection. If the server answered with an unexpected status, it returns the status with the error.
// It stores the server that answered in the connection.
type opener func(ctx context.Context, c *conn, target string) (made line, status int, err error)

func newDuplex(l Lane, d *dialer, open opener) *duplex {
	return &duplex{lane: l, dialer: d, open: open, present: make([]*session, l.Connections), all: make(map[*session]bool)}
}

// session is a connection in use. Its fields are guarded by the duplex's lock, except that until ready is closed they belong to
// the dialling goroutine; from then on conn, line, status and err do not change.
type session struct {
	turn    int // of the lane's connections
	ready   chan struct{}
	dialled chan struct{} // closed once there is a connection; the server may not have answered yet
	conn    *conn
	line    line
	status  int
	err     error // why there is no line

	waiting []*message // in the order of sending; messages that were given up stay until a later one is answered
	late    map[string]bool
	sent    int
	skipped int    // how many of them were skipped, as far as is known
	lag     int    // how far the server's count is behind
	astray  string // an answer to no message, for which the next message will fail
	leaving bool   // no more messages
	broken  error  // the end without a close message, for which the next message will fail
	at      stage
}

// message is a message in flight.
type message struct {
	id     string
	nth    int // number on its connection, from 1
	over   bool
	result chan result // has room for one
}

type result struct {
	outcome history.Outcome
	err     string
}

func (m *message) end(o history.Outcome, err string) {
	if !m.over {
		m.over = true
		m.result <- result{o, err}
	}
}

// use returns the session for message k, and dials if there is none.
func (d *duplex) use(ctx context.Context, k uint64) *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	turn := int(k % uint64(len(d.present)))
	if d.present[turn] == nil {
		s := &session{turn: turn, ready: make(chan struct{}), dialled: make(chan struct{}), late: make(map[string]bool)}
		d.present[turn], d.all[s] = s, true
		go d.begin(context.WithoutCancel(ctx), s)
	}
	return d.present[turn]
}

// begin makes the connection, and reads messages from it until it ends.
func (d *duplex) begin(ctx context.Context, s *session) {
	ctx, cancel := context.WithTimeout(ctx, d.lane.Timeouts.Connect+d.lane.Timeouts.Response)
	defer cancel()
	address, _, _ := hostOf(d.lane.Target)
	c, err := d.dialer.dial(ctx, "tcp", address)
	if err == nil {
		s.conn = c.(*conn)
		close(s.dialled)
		stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
		s.line, s.status, err = d.open(ctx, s.conn, d.lane.Target)
		if !stop() {
			err = errAlarm{}
		}
	}
	if err != nil {
		s.err = err
		if s.conn != nil {
			_ = s.conn.Close()
		}
		d.mu.Lock()
		d.drop(s)
		d.mu.Unlock()
		close(s.ready)
		return
	}
	close(s.ready)
	d.mu.Lock()
	late := !d.all[s] // the load ended meanwhile
	d.mu.Unlock()
	if late {
		s.line.leave()
		return
	}
	for {
		text, err := s.line.hear()
		d.mu.Lock()
		over := d.heard(s, text, err)
		d.mu.Unlock()
		if over {
			return
		}
	}
}

// drop forgets a session.
func (d *duplex) drop(s *session) {
	delete(d.all, s)
	d.retire(s)
}

// retire makes the next message of the session's turn begin another session.
func (d *duplex) retire(s *session) {
	s.leaving = true
	if d.present[s.turn] == s {
		d.present[s.turn] = nil
	}
}

// heard handles a message or the error that ended the connection. It reports whether nothing more will come.
func (d *duplex) heard(s *session, text string, err error) (over bool) {
	switch {
	case err != nil:
		d.ended(s, err)
		return true
	case text == leaveNotice:
		d.retire(s)
	default:
		s.answer(text)
	}
	d.finish(s)
	return false
}

// finish closes a connection that is to be left, once no message waits for an answer on it.
func (d *duplex) finish(s *session) {
	if !s.leaving {
		return
	}
	for _, m := range s.waiting {
		if !m.over {
			return
		}
	}
	if d.all[s] {
		d.drop(s)
		go s.line.leave()
	}
}

// talker is a sender of messages.
type talker struct {
	lane    *lane
	through *duplex
	right   right
	timer   *time.Timer
}

func (d *duplex) sender(l *lane) sender {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &talker{lane: l, through: d, right: newRight(l), timer: t}
}

func (t *talker) send(k uint64, due history.Offset) {
	l := t.lane
	row := &history.Request{Worker: l.worker, Lane: l.Lane.Lane, Seq: k, Due: due, Sent: l.record.now()}
	limit := min(l.Timeouts.Response, l.Timeouts.Request)
	t.timer.Reset(limit)
	defer t.timer.Stop()
	for again := true; again; {
		s := t.through.use(l.template.Context(), k)
		again = t.exchange(s, row, t.right.of(k))
	}
	if row.Outcome == history.Unsent {
		row.Sent = 0
	}
	l.record.add(row)
}

// exchange sends a message on a session and waits for its answer. again is true if the session takes no more messages, so that
// another session is needed.
func (t *talker) exchange(s *session, row *history.Request, id string) (again bool) {
	select {
	case <-s.ready:
	case <-t.timer.C:
		t.tooLate(s, row)
		return false
	}
	d := t.through
	d.mu.Lock()
	switch {
	case s.err != nil:
		d.mu.Unlock()
		s.refused(row)
		return false
	case s.leaving:
		d.mu.Unlock()
		return true
	case s.broken != nil:
		row.Outcome, row.Err = s.how(s.broken, s.at), "the connection had ended without a close message: "+errorText(s.broken)
		d.drop(s)
		d.mu.Unlock()
		s.fill(row)
		return false
	}
	m := s.say(id, t.lane.Timeouts.Response)
	d.mu.Unlock()
	row.Attempts, row.Reused = 1, m.nth > 1
	t.await(s, m, row)
	s.fill(row)
	return false
}

// await waits for a message's answer, up to the time-out.
func (t *talker) await(s *session, m *message, row *history.Request) {
	var r result
	select {
	case r = <-m.result:
	case <-t.timer.C:
		d := t.through
		d.mu.Lock()
		m.end(history.Stall, "no answer to the message came in time")
		r = <-m.result // or the answer that came at the same moment
		d.retire(s)
		d.finish(s)
		d.mu.Unlock()
	}
	row.Outcome, row.Err = r.outcome, r.err
	if r.outcome == history.OK {
		row.Status, row.Bytes = 200, int64(len("ok ")+len(m.id))
	}
}

// tooLate fills in the row of a message that waited in vain for a connection.
func (t *talker) tooLate(s *session, row *history.Request) {
	row.Outcome = history.TimeoutConnect
	select {
	case <-s.dialled:
		row.Outcome = history.TimeoutResponse
		s.fill(row)
	default:
	}
	row.Err = errAlarm{}.Error()
}

// close implements carrier.
func (d *duplex) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s := range d.all {
		d.drop(s)
		select {
		case <-s.ready:
			if s.line != nil {
				s.line.leave()
			}
		default: // begin, which is still dialling, closes it
		}
	}
}
