package load

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/check"
	"github.com/holdfast-ha/holdfast/framework/load/dial"
	"github.com/holdfast-ha/holdfast/framework/load/outcome"
)

// The lanes of servers that speak neither HTTP nor a protocol of holdfast's own. A request is the Body of the lane's Request, and its
// answer has Expect's text in it. Without both, a connection that is accepted is a good answer.
const (
	LaneTCP     history.Lane = "tcp"      // a new connection for every request
	LaneTCPKept history.Lane = "tcp-kept" // kept connections in turn
)

// tcpTransport has the connections of a lane, which take turns. With fresh, each request makes its own.
type tcpTransport struct {
	lane    Lane
	dialer  *dialer
	address string
	fresh   bool
	turns   []*tcpTurn
}

// tcpTurn is one of the connections that take turns; nil: the next request makes it. A request waits for the one before it.
type tcpTurn struct {
	mu   sync.Mutex
	conn *conn
}

func newTCP(l Lane, d *dialer) transport {
	all := newTCPKept(l, d).(*tcpTransport)
	all.fresh = true
	return all
}

func newTCPKept(l Lane, d *dialer) transport {
	all := &tcpTransport{lane: l, dialer: d, address: strings.Trim(strings.TrimPrefix(l.Target, "tcp:"), "/")}
	for range l.Connections {
		all.turns = append(all.turns, &tcpTurn{})
	}
	return all
}

// close closes the kept connections.
func (t *tcpTransport) close() {
	for _, turn := range t.turns {
		turn.drop()
	}
}

func (t *tcpTransport) sender(l *lane) sender { return &tcpSender{lane: l, through: t} }

// drop closes the connection of a turn.
func (t *tcpTurn) drop() {
	if t.conn != nil {
		_ = t.conn.Close()
		t.conn = nil
	}
}

type tcpSender struct {
	lane    *lane
	through *tcpTransport
}

// send sends request k and records its row. With a connection of its own, a request waits for no other.
func (s *tcpSender) send(k uint64, due history.Offset) {
	row := history.Request{Worker: s.lane.worker, Lane: s.lane.Lane.Lane, Seq: k, Due: due, Sent: s.lane.record.now()}
	turn := &tcpTurn{}
	if !s.through.fresh {
		turn = s.through.turns[k%uint64(len(s.through.turns))]
	}
	turn.mu.Lock()
	s.exchange(turn, &row)
	if s.through.fresh || row.Outcome.Failed() {
		turn.drop()
	}
	turn.mu.Unlock()
	s.lane.record.add(&row)
}

// exchange makes the request and reads the answer.
func (s *tcpSender) exchange(turn *tcpTurn, row *history.Request) {
	limits := s.lane.Timeouts
	if turn.conn != nil {
		_ = turn.conn.SetDeadline(time.Time{}) // that of the request before has passed
	}
	if turn.conn != nil && dial.Ended(turn.conn.Conn) { // the server left between two requests, which costs a client nothing
		turn.drop()
	}
	row.Reused, row.Attempts = turn.conn != nil, 1
	if turn.conn == nil {
		made, err := s.through.dialer.dial(s.lane.template.Context(), "tcp", s.through.address)
		if err != nil {
			s.refused(row, err)
			return
		}
		turn.conn = made.(*conn)
	}
	row.Conn, row.Addr = turn.conn.id, turn.conn.addr
	_ = turn.conn.SetDeadline(time.Now().Add(min(limits.Response, limits.Request))) // of a connection that is open, it does not fail
	at, err := s.talk(turn.conn, row)
	if err != nil {
		row.Outcome, row.Err = outcome.Of(err, at), outcome.Text(err)
		if o := row.Outcome; (o == history.Other || o == history.ClosedEarly) && turn.conn.end() != nil && !errors.Is(turn.conn.end(), io.EOF) {
			row.Outcome = outcome.Of(turn.conn.end(), at)
		}
		return
	}
	row.Outcome, row.Status = history.OK, http.StatusOK
}

// refused fills in the row of a request that got no connection.
func (s *tcpSender) refused(row *history.Request, err error) {
	row.Outcome, row.Err, row.Addr = outcome.Of(err, outcome.Connecting), outcome.Text(err), dialled(err)
	if row.Outcome == history.Unsent {
		row.Sent = 0
	}
}

// talk writes the request, and reads until the expected text has come.
func (s *tcpSender) talk(c *conn, row *history.Request) (at outcome.Stage, err error) {
	if body := s.lane.Request.Body; body != "" {
		if _, err := io.WriteString(c, body); err != nil {
			return outcome.Waiting, err
		}
	}
	want := []byte(s.lane.Expect.Contains)
	if len(want) == 0 {
		return outcome.Waiting, nil
	}
	n, err := check.ReadUntil(c, want)
	row.Bytes = n
	if n == 0 && err != nil {
		return outcome.Waiting, err
	}
	return outcome.Reading, err
}
