package load

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/ask"
	"github.com/holdfast-ha/holdfast/framework/load/check"
	"github.com/holdfast-ha/holdfast/framework/load/outcome"
)

// The lanes of servers that are not asked over HTTP: see package ask. A request is the Body of the lane's Request. Without one, a connection
// that is accepted is a good answer. A request that finds all kept connections of its turn busy makes another.
const (
	LaneTCP     history.Lane = "tcp"      // a new connection for every request
	LaneTCPKept history.Lane = "tcp-kept" // kept connections in turn
	LaneWS      history.Lane = "ws"       // a new WebSocket for every request
	LaneWSKept  history.Lane = "ws-kept"  // kept WebSockets in turn
)

// askTransport has the connections of a lane.
type askTransport struct {
	dialer  *dialer
	address string
	tls     *tls.Config
	fresh   bool
	turns   []*ask.Kept
	open    func(context.Context, ask.Link, ask.Question, time.Time) (ask.Conn, ask.Result)
}

func newAsksFresh(l Lane, d *dialer) transport {
	all := newAsks(l, d).(*askTransport)
	all.fresh = true
	return all
}

func newAsks(l Lane, d *dialer) transport {
	all := &askTransport{dialer: d, tls: l.Request.ClientTLS(l.Target), open: ask.Open}
	all.address, _ = l.address()
	for range l.Connections {
		all.turns = append(all.turns, &ask.Kept{})
	}
	return all
}

// close closes the kept connections.
func (t *askTransport) close() {
	for _, turn := range t.turns {
		turn.Close()
	}
}

func (t *askTransport) sender(l *lane) sender {
	q := ask.Question{
		Message: l.Request.Body, Expect: l.Expect, Opening: l.template, TLS: t.tls, Private: l.Request.Private(),
		Check: check.New(l.Expect, l.Request, l.worker, l.Lane.Lane),
	}
	return &askSender{lane: l, through: t, question: q}
}

// mostUnasked is how many new connections a request tries whose server ends them in order before anything is sent.
const (
	mostUnasked  = 3
	unaskedAgain = "the server ended each of 3 new connections in order, before anything was sent"
)

type askSender struct {
	lane     *lane
	through  *askTransport
	question ask.Question
}

// send sends request k and records its row.
func (s *askSender) send(k uint64, due history.Offset) {
	row := history.Request{Worker: s.lane.worker, Lane: s.lane.Lane.Lane, Seq: k, Due: due, Sent: s.lane.record.now()}
	turn := s.through.turns[s.lane.turn(k)%uint64(len(s.through.turns))]
	s.question.Check.Request(k)
	fresh := 0
	for s.exchange(turn, &row).Unasked { // each time, a connection is gone
		if row.Reused {
			continue
		}
		if fresh++; fresh == mostUnasked {
			row.Outcome, row.Err = history.GoAway, unaskedAgain
			break
		}
	}
	if row.Outcome == history.Unsent {
		row.Sent = 0
	}
	row.Err = s.lane.Request.Hide(row.Err)
	s.lane.record.add(&row)
}

// exchange makes the request and reads the answer, on a kept connection if there is one.
func (s *askSender) exchange(turn *ask.Kept, row *history.Request) (r ask.Result) {
	until := time.Now().Add(min(s.lane.Timeouts.Response, s.lane.Timeouts.Request))
	var c ask.Conn
	if !s.through.fresh {
		c = turn.Take()
	}
	row.Reused, row.Attempts = c != nil, 1
	if c == nil {
		if c, r = s.open(row, until); c == nil {
			row.Outcome, row.Err, row.Status = r.Outcome, r.Err, r.Status
			return r
		}
	}
	over := c.Over().(*conn)
	row.Conn, row.Addr = over.id, over.addr
	r = c.Ask(s.question, until)
	row.Outcome, row.Err, row.Bytes = r.Outcome, r.Err, r.Bytes
	if r.Outcome == history.OK {
		row.Status = http.StatusOK
		s.lane.inTime(row)
	}
	if s.through.fresh || r.Unasked || row.Outcome.Failed() {
		c.Close()
	} else {
		turn.Keep(c)
	}
	return r
}

// open makes a connection; nil: the result says why not.
func (s *askSender) open(row *history.Request, until time.Time) (ask.Conn, ask.Result) {
	made, err := s.through.dialer.dial(s.lane.template.Context(), "tcp", s.through.address)
	if err != nil {
		row.Addr = dialled(err)
		return nil, ask.Result{Outcome: outcome.Of(err, outcome.Connecting), Err: outcome.Text(err)}
	}
	over := made.(*conn)
	row.Conn, row.Addr = over.id, over.addr
	return s.through.open(s.lane.template.Context(), over, s.question, until)
}
