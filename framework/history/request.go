package history

import (
	"strings"
	"time"
)

// Offset is a point in time: the time since the run's base.
type Offset = time.Duration

// Moment is a time that may not exist.
type Moment struct {
	At Offset // zero unless OK
	OK bool
}

// First sets the moment, if it has not come before.
func (m *Moment) First(at Offset) {
	if !m.OK {
		*m = Moment{At: at, OK: true}
	}
}

// Within reports whether the moment exists and is within [from, to).
func (m Moment) Within(from, to Offset) bool { return m.OK && m.At >= from && m.At < to }

// Lane is a way of using connections. Lanes are judged separately. Package load has the table of all lanes. Where several probes
// send requests, the name of the probe follows that of the lane: "fresh@checkout".
type Lane string

// LaneOf is a lane of a probe.
func LaneOf(lane Lane, probe string) Lane { return lane + "@" + Lane(probe) }

// Split is the lane without its probe, and the probe; empty: the lane belongs to no probe.
func (l Lane) Split() (lane Lane, probe string) {
	name, probe, _ := strings.Cut(string(l), "@")
	return Lane(name), probe
}

// The lanes that promises single out.
const (
	LaneFresh   Lane = "fresh"   // a new connection for every request
	LaneReused  Lane = "reused"  // kept-alive connections, as most clients use them
	LaneControl Lane = "control" // to a server in the worker's own pod: separates harness noise from the system under test
)

// Outcome is how a request ended.
type Outcome string

// The outcomes. All except OK and Unsent are failures. Unsent is a failure of the harness, which means missing evidence.
const (
	OK              Outcome = "ok"
	Unsent          Outcome = "unsent"           // was due and never sent
	Refused         Outcome = "refused"          // connection refused
	Reset           Outcome = "reset"            // connection reset by the peer
	ClosedEarly     Outcome = "closed-early"     // the connection was closed before a response began
	TimeoutConnect  Outcome = "timeout-connect"  // time-out before a connection was established
	TimeoutResponse Outcome = "timeout-response" // time-out before the response began
	Stall           Outcome = "stall"            // time-out within the body
	Truncated       Outcome = "truncated"        // the body ended early
	WrongBody       Outcome = "wrong-body"       // complete, but not the expected body
	BadStatus       Outcome = "bad-status"       // a status other than 200
	BadTLS          Outcome = "bad-tls"          // the handshake failed: the certificate is not trusted, or the server does not speak what was asked for
	Late            Outcome = "late"             // the expected answer, but later than the probe expects it
	GoAway          Outcome = "goaway"           // the server ended the connection during the request: HTTP/2 GOAWAY, or a close frame
	Skipped         Outcome = "skipped"          // messages are answered in order, but a later one was answered
	Masked          Outcome = "masked"           // succeeded only because the transport silently retried
	Unreachable     Outcome = "unreachable"      // no route to host, network unreachable
	Other           Outcome = "other"            // see Err
)

// Failed reports whether the client saw a failure.
func (o Outcome) Failed() bool { return o != OK && o != Unsent }

// Request is one planned request.
type Request struct {
	Worker string // the load worker that had to send it
	Lane   Lane
	Seq    uint64 // the number of the hit in the lane's plan, from 0, of which a worker sends its LoadShare
	Due    Offset // when it should be sent according to the schedule
	Sent   Offset // when it was sent; zero when Unsent
	Done   Offset // when the body had been read and checked, or the request failed, or (Unsent) was given up
	// Outcome, and details of it.
	Outcome  Outcome
	Status   int    // HTTP status, or 200 for a good answer to a message; zero if there was no response
	Attempts int    // number of connections that the transport wrote it to; more than 1 is a masked retry
	Bytes    int64  // of the body
	Err      string // the error message; empty if OK
	// Conn numbers the worker's connections. Reused: the connection had carried a request before. Addr is its peer.
	Conn   uint64
	Reused bool
	Addr   string
	// The server that answered, according to its response. With Inferred: the server that should have answered, inferred
	// from earlier responses on the connection.
	Pod, Node, Zone, Revision string
	Inferred                  bool
	// GatewayTries is the number of upstreams that the gateway tried, according to the gateway; zero without a gateway.
	GatewayTries int
}
