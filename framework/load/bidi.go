package load

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/check"
	"github.com/holdfast-ha/holdfast/framework/load/deadline"
	"github.com/holdfast-ha/holdfast/framework/load/message"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// LaneSocket is WebSocket messages to the sample backend.
const LaneSocket history.Lane = "websocket"

// bidiTransport is the transport of lanes that hold each connection for as long as it lasts. Each request is a message on one of the
// connections, which take turns. A message is sent when it is due, whatever became of earlier messages, and the answers come in
// order. When the server asks the client to leave, or does not answer a message in time, the next message of that turn opens
// another connection, and the old one is closed once its answers have arrived. A connection that the server ends with a close
// message and without missing answers is no failure. Any other end fails the messages that wait, or else the next message
// of the turn.
type bidiTransport struct {
	lane   Lane
	dialer *dialer

	mu      sync.Mutex
	current []*bidiStream // by turn, the streams that take messages; nil: the next message begins one
	all     map[*bidiStream]bool
}

func newWebSockets(l Lane, d *dialer) transport {
	return &bidiTransport{lane: l, dialer: d, current: make([]*bidiStream, l.Connections), all: make(map[*bidiStream]bool)}
}

// bidiStream is a connection in use. Its fields are guarded by the transport's lock, except that until ready is closed they belong
// to the dialling goroutine; from then on conn, messages, status and err do not change.
type bidiStream struct {
	turn     int // of the lane's connections
	ready    chan struct{}
	dialled  chan struct{} // closed once there is a connection; the server may not have answered yet
	conn     *conn
	messages message.Conn
	status   int
	err      error // why there is no message connection

	waiting []*inFlight // in the order of sending; messages that were given up stay until a later one is answered
	late    map[string]bool
	sent    int
	skipped int    // how many of them were skipped, as far as is known
	lag     int    // how far the server's count is behind
	astray  string // an answer to no message, for which the next message will fail
	leaving bool   // no more messages
	broken  error  // the end without a close message, for which the next message will fail
}

// inFlight is a message that was sent.
type inFlight struct {
	id     string
	nth    int // number on its connection, from 1
	over   bool
	result chan result // has room for one
}

type result struct {
	outcome history.Outcome
	err     string
}

func (m *inFlight) end(o history.Outcome, err string) {
	if !m.over {
		m.over = true
		m.result <- result{o, err}
	}
}

// use returns the stream whose turn it is, and dials if there is none.
func (d *bidiTransport) use(ctx context.Context, n uint64) *bidiStream {
	d.mu.Lock()
	defer d.mu.Unlock()
	turn := int(n % uint64(len(d.current)))
	if d.current[turn] == nil {
		s := &bidiStream{turn: turn, ready: make(chan struct{}), dialled: make(chan struct{}), late: make(map[string]bool)}
		d.current[turn], d.all[s] = s, true
		go d.begin(context.WithoutCancel(ctx), s)
	}
	return d.current[turn]
}

// begin makes the connection, and reads messages from it until it ends.
func (d *bidiTransport) begin(ctx context.Context, s *bidiStream) {
	ctx, cancel := context.WithTimeout(ctx, d.lane.Timeouts.Connect+d.lane.Timeouts.Response)
	defer cancel()
	address, path := d.lane.address()
	c, err := d.dialer.dial(ctx, "tcp", address)
	if err == nil {
		s.conn = c.(*conn)
		close(s.dialled)
		stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
		var head http.Header
		if s.messages, head, s.status, err = message.OpenWebSocket(ctx, s.conn, address+path); err == nil {
			s.conn.answeredBy(identity(head))
		}
		if !stop() {
			err = deadline.Passed{}
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
		s.messages.Close()
		return
	}
	for {
		text, err := s.messages.Receive()
		d.mu.Lock()
		over := d.received(s, text, err)
		d.mu.Unlock()
		if over {
			return
		}
	}
}

// drop forgets a stream.
func (d *bidiTransport) drop(s *bidiStream) {
	delete(d.all, s)
	d.retire(s)
}

// retire makes the next message of the stream's turn begin another stream.
func (d *bidiTransport) retire(s *bidiStream) {
	s.leaving = true
	if d.current[s.turn] == s {
		d.current[s.turn] = nil
	}
}

// received handles a message or the error that ended the connection. It reports whether nothing more will come.
func (d *bidiTransport) received(s *bidiStream, text string, err error) (over bool) {
	switch {
	case err != nil:
		d.ended(s, err)
		return true
	case text == backend.Leave:
		d.retire(s)
	default:
		s.answer(text)
	}
	d.finish(s)
	return false
}

// finish closes a connection that is to be left, once no message waits for an answer on it.
func (d *bidiTransport) finish(s *bidiStream) {
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
		go s.messages.Close()
	}
}

// messageSender sends messages, one after the other.
type messageSender struct {
	lane    *lane
	through *bidiTransport
	check   *check.Echo
	timer   *time.Timer
}

func (d *bidiTransport) sender(l *lane) sender {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &messageSender{lane: l, through: d, check: check.NewEcho(l.worker, l.Lane.Lane), timer: t}
}

func (t *messageSender) send(k uint64, due history.Offset) {
	l := t.lane
	row := &history.Request{Worker: l.worker, Lane: l.Lane.Lane, Seq: k, Due: due, Sent: l.record.now()}
	limit := min(l.Timeouts.Response, l.Timeouts.Request)
	t.timer.Reset(limit)
	defer t.timer.Stop()
	for again := true; again; {
		s := t.through.use(l.template.Context(), l.turn(k))
		again = t.exchange(s, row, t.check.Request(k))
	}
	if row.Outcome == history.Unsent {
		row.Sent = 0
	}
	l.record.add(row)
}

// exchange sends a message on a stream and waits for its answer. again is true if the stream takes no more messages, so that
// another stream is needed.
func (t *messageSender) exchange(s *bidiStream, row *history.Request, id string) (again bool) {
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
		row.Outcome, row.Err = s.outcomeOf(s.broken), endText(s.broken)
		d.drop(s)
		d.mu.Unlock()
		s.fill(row)
		return false
	}
	m := s.send(id, t.lane.Timeouts.Response)
	d.mu.Unlock()
	row.Attempts, row.Reused = 1, m.nth > 1
	t.await(s, m, row)
	s.fill(row)
	return false
}

// await waits for a message's answer, up to the time-out.
func (t *messageSender) await(s *bidiStream, m *inFlight, row *history.Request) {
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
func (t *messageSender) tooLate(s *bidiStream, row *history.Request) {
	row.Outcome = history.TimeoutConnect
	select {
	case <-s.dialled:
		row.Outcome = history.TimeoutResponse
		s.fill(row)
	default:
	}
	row.Err = deadline.Passed{}.Error()
}

// close implements transport.
func (d *bidiTransport) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s := range d.all {
		d.drop(s)
		select {
		case <-s.ready:
			if s.messages != nil {
				s.messages.Close()
			}
		default: // begin, which is still dialling, closes it
		}
	}
}
