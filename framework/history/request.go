package history

import "time"

// Offset is a moment: the time since the run's base.
type Offset = time.Duration

// Lane names a way of using connections. Lanes are judged apart.
type Lane string

// The lanes.
const (
	LaneFresh   Lane = "fresh"     // a new connection for every request
	LaneReused  Lane = "reused"    // kept-alive connections, as most clients have them
	LaneStream  Lane = "stream"    // messages that are lines, on one connection held for as long as it lasts
	LaneH2C     Lane = "h2c"       // a few connections of HTTP/2 without TLS, each of which carries many requests at a time
	LaneGRPC    Lane = "grpc"      // calls by gRPC, on a few connections
	LaneSocket  Lane = "websocket" // messages by WebSocket, on one connection held for as long as it lasts
	LaneControl Lane = "control"   // to a server in the worker's own pod: tells harness noise from the system under test
)

// Outcome says how a request ended.
type Outcome string

// The outcomes. Everything but OK and Unsent is a failure. Unsent is a failure of the harness: it takes evidence away.
const (
	OK              Outcome = "ok"
	Unsent          Outcome = "unsent"           // was due and never sent
	Refused         Outcome = "refused"          // connection refused
	Reset           Outcome = "reset"            // connection reset by the peer
	ClosedEarly     Outcome = "closed-early"     // the connection closed before a response began
	TimeoutConnect  Outcome = "timeout-connect"  // time ran out before there was a connection
	TimeoutResponse Outcome = "timeout-response" // time ran out waiting for the response to begin
	Stall           Outcome = "stall"            // time ran out in the middle of the body
	Truncated       Outcome = "truncated"        // the body ended before its length
	WrongBody       Outcome = "wrong-body"       // whole, and not what was asked for
	BadStatus       Outcome = "bad-status"       // a status other than 200
	GoAway          Outcome = "goaway"           // the server said goodbye in the middle of the request: HTTP/2's GOAWAY, a close frame
	Skipped         Outcome = "skipped"          // of messages that are answered in order, a later one was
	Masked          Outcome = "masked"           // succeeded only because the transport silently tried again
	Unreachable     Outcome = "unreachable"      // no route to host, network unreachable
	Other           Outcome = "other"            // see Err
)

// Failed tells whether a client was let down.
func (o Outcome) Failed() bool { return o != OK && o != Unsent }

// Request is one request that was planned.
type Request struct {
	Worker string // the load worker that had it to send
	Lane   Lane
	Seq    uint64 // counts a worker's requests of a lane, from 0
	Due    Offset // when the schedule wanted it sent
	Sent   Offset // when it was sent; zero when Unsent
	Done   Offset // when the body had been read and checked, or it failed, or (Unsent) it was given up
	// Outcome and what is known of it.
	Outcome  Outcome
	Status   int    // HTTP status, or 200 for a good answer to a message; zero without a response
	Attempts int    // how many connections the transport wrote it to; over 1 is a masked retry
	Bytes    int64  // of the body
	Err      string // the error's text; empty when OK
	// Conn numbers the worker's connections; Reused tells whether it had carried a request before. Addr is its peer.
	Conn   uint64
	Reused bool
	Addr   string
	// Who answered, in the server's own words. With Inferred: who would have (see Outcome), concluded from the
	// connection's earlier responses.
	Pod, Node, Zone, Revision string
	Inferred                  bool
	// GatewayTries is how many upstreams the gateway tried, as it says; zero without a gateway.
	GatewayTries int
}
