package load

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/check"
	"github.com/holdfast-ha/holdfast/framework/load/deadline"
	"github.com/holdfast-ha/holdfast/framework/load/outcome"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// headerTries is the gateway's header for how many upstreams it tried.
const headerTries = "X-Holdfast-Gateway-Tries"

// httpSender sends HTTP requests with net/http, one at a time. It reuses what it can: the load must not cost more than the
// plain client it is compared with.
type httpSender struct {
	lane     *lane
	through  *httpTransport
	deadline *deadline.Deadline
	template *http.Request // carries the deadline's context
	header   http.Header
	check    check.Checker
	echo     bool // the answers name their server
	body     []byte

	row      history.Request
	written  *atomic.Int64 // writes of the request since it got its connection; HTTP/2 only
	asking   bool          // for a connection
	attempts int
	first    *conn // of the attempts
	reused   bool  // first was
	last     *conn
	over     net.Conn // the last one as net/http has it: over TLS, if the URL says https
}

func (h *httpTransport) sender(l *lane) sender {
	s := &httpSender{lane: l, through: h, check: check.New(l.Expect, l.Request, l.worker, l.Lane.Lane), echo: l.Expect.Echo(), body: make([]byte, 0, 512), deadline: &deadline.Deadline{}}
	s.renew()
	return s
}

// trace observes each attempt, because net/http retries silently.
func (s *httpSender) trace() *httptrace.ClientTrace {
	// The sending goroutine calls both.
	t := &httptrace.ClientTrace{GetConn: func(string) { s.asking = true }, GotConn: s.gotConn}
	if s.through.http2 {
		written := new(atomic.Int64)
		s.written = written
		t.WroteHeaders = func() { written.Add(1) } // called by any goroutine
	}
	return t
}

// renew replaces everything that an earlier request may still use.
func (s *httpSender) renew() {
	s.deadline.Parent = httptrace.WithClientTrace(s.lane.template.Context(), s.trace())
	s.deadline.Renew()
	s.template = s.lane.template.WithContext(s.deadline.Ctx)
	s.header = s.template.Header.Clone()
	if s.echo {
		s.header[backend.HeaderID] = []string{""}
	}
	s.template.Header = s.header
}

func (s *httpSender) gotConn(info httptrace.GotConnInfo) {
	s.asking = false
	if s.written != nil && s.written.Swap(0) == 0 && s.attempts > 0 {
		s.attempts-- // nothing was written: the connection stopped taking requests in the meantime
	}
	s.attempts++
	s.last, s.over = ownConn(info.Conn), info.Conn
	if s.attempts == 1 {
		s.first, s.reused = s.last, info.Reused
	}
}

// send sends request k and records its row.
func (s *httpSender) send(k uint64, due history.Offset) {
	l := s.lane
	s.asking, s.attempts, s.first, s.last, s.over, s.reused = false, 0, nil, nil, nil, false
	if s.written != nil {
		s.written.Store(0)
	}
	s.row = history.Request{Worker: l.worker, Lane: l.Lane.Lane, Seq: k, Due: due, Sent: l.record.now()}
	s.exchange(k)
	s.row.Err = l.Request.Hide(s.row.Err)
	l.record.add(&s.row)
}

// exchange makes the request and reads the response.
func (s *httpSender) exchange(k uint64) {
	limits := s.lane.Timeouts
	if id := s.check.Request(k); id != "" {
		s.header[backend.HeaderID][0] = id
	}
	if s.template.ContentLength > 0 {
		s.template.Body, _ = s.template.GetBody() // of a text in memory, so it does not fail
	}
	s.deadline.Set(min(limits.Response, limits.Request))
	response, err := s.through.of(s.lane.turn(k)).RoundTrip(s.template)
	s.row.Attempts = s.attempts
	s.fillConn()
	if err == nil {
		s.deadline.Set(limits.Request - (s.lane.record.now() - s.row.Sent))
		s.receive(response)
	} else {
		s.failed(err)
	}
	if !s.deadline.Clear() || s.row.Outcome != history.OK {
		s.renew()
	}
}

// fillConn adds the connection to the row; of several, the first, which failed.
func (s *httpSender) fillConn() {
	s.row.Reused = s.reused
	if s.first != nil {
		s.row.Conn, s.row.Addr = s.first.id, s.first.addr
	}
}

// failed classifies a request without a response.
func (s *httpSender) failed(err error) {
	at := outcome.Waiting
	if s.asking || s.attempts == 0 {
		at = outcome.Connecting
	}
	if s.first == nil {
		s.row.Addr = dialled(err)
	}
	s.fail(err, at)
	infer(&s.row, s.first)
}

// fail sets the outcome. Where net/http's error is unspecific, the error of the connection decides, for example that it ended
// by a reset.
func (s *httpSender) fail(err error, at outcome.Stage) {
	if cause := context.Cause(s.deadline.Ctx); cause != nil && errors.Is(err, context.Canceled) {
		err = cause // HTTP/2 does not return the cause
	}
	if err.Error() == stillborn {
		if alert := alertOn(s.over); alert != nil {
			err = alert
		}
	}
	s.row.Outcome, s.row.Err = outcome.Of(err, at), outcome.Text(err)
	if o := s.row.Outcome; (o == history.Other || o == history.ClosedEarly) && s.last != nil && s.last.Broke() != nil {
		s.row.Outcome = outcome.Of(s.last.Broke(), at)
	}
	if s.row.Outcome == history.Unsent {
		s.row.Sent = 0
	}
}
