// Package ask asks servers that are not asked over HTTP: a request is a message on a connection, and its answer comes on the same
// connection, before the next request.
//
// It makes no connections, and records nothing. How a request failed it says in the words of package history.
package ask

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/check"
	"github.com/holdfast-ha/holdfast/framework/load/outcome"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// Question is what is asked.
type Question struct {
	Message string // what is sent; empty: nothing
	Expect  expect.Answer
	// Check judges the answer over a WebSocket. Over TCP, an answer is complete when the expected text has come.
	Check check.Checker
	// Opening is the request that opens a WebSocket. Nothing but its URL, Host and headers counts.
	Opening *http.Request
	TLS     *tls.Config // of a wss URL
	Private bool        // nothing of what the server says is quoted: it may repeat what the request carries
}

// Result is what became of a question.
type Result struct {
	Outcome history.Outcome
	Err     string
	Bytes   int64
	Status  int // of HTTP, if the connection could not be opened
	// Unasked: the connection had ended in order before anything was sent, so that another can be asked.
	Unasked bool
}

// Link is a connection that remembers how it broke.
type Link interface {
	net.Conn
	// NetConn is the connection below it.
	NetConn() net.Conn
	// Broke is how it broke; nil: it did not, or not yet.
	Broke() error
}

// Conn is a connection on which questions are asked, one after the other.
type Conn interface {
	// Ask returns at a given moment at the latest.
	Ask(q Question, until time.Time) Result
	// Over is the connection below.
	Over() Link
	// Left reports whether the server has ended the connection since the last answer, in a way that costs a client nothing.
	Left() bool
	Close()
}

// Open makes a connection ready for questions, until a given moment at the latest. If it cannot, the result says why, and the link is
// closed.
func Open(ctx context.Context, over Link, q Question, until time.Time) (Conn, Result) {
	switch q.Opening.URL.Scheme {
	case "ws", "wss":
		return openSocket(ctx, over, q, until)
	}
	return &tcp{over: over}, Result{}
}

// failed classifies an error. Where it is unspecific, how the connection broke decides.
func failed(over Link, err error, at outcome.Stage) Result {
	r := Result{Outcome: outcome.Of(err, at), Err: outcome.Text(err)}
	if o := r.Outcome; (o == history.Other || o == history.ClosedEarly) && over.Broke() != nil && !errors.Is(over.Broke(), io.EOF) {
		r.Outcome = outcome.Of(over.Broke(), at)
	}
	return r
}
