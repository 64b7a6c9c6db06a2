package load

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// call reads up to the next call, and returns its stream and its message; zero when the client has gone.
func (s *h2) call() (stream uint32, asked string) {
	if stream, _ = s.stream(); stream == 0 {
		return 0, ""
	}
	for {
		f, err := s.ReadFrame()
		if err != nil {
			return 0, ""
		}
		if data, ok := f.(*http2.DataFrame); ok && data.StreamID == stream && len(data.Data()) > 5 {
			var id wrapperspb.StringValue // a HealthCheckRequest looks the same
			_ = proto.Unmarshal(data.Data()[5:], &id)
			return stream, id.Value
		}
	}
}

// message writes a message without its last missing bytes.
func (s *h2) message(stream uint32, m proto.Message, missing int) {
	b, _ := proto.Marshal(m)
	b = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b...)
	_ = s.WriteData(stream, false, b[:len(b)-missing])
}

// heads sends the headers of an answer.
func (s *h2) heads(stream uint32, n int) {
	s.respond(stream, false, append([]string{":status: 200", "content-type: application/grpc"}, pod(n)...)...)
}

// replies sends a complete and correct answer to a call.
func (s *h2) replies(stream uint32, asked string, n int) {
	s.heads(stream, n)
	if asked == backend.EchoService {
		s.message(stream, &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, 0)
	} else {
		s.message(stream, wrapperspb.String("ok "+asked+"\n"), 0)
	}
	s.respond(stream, true, "grpc-status: 0")
}

// overGRPC returns a script that answers the first call, a health check, and passes the second one to serve.
func overGRPC(serve func(s *h2, stream uint32, n int)) script {
	return func(_ *testing.T, n int, c *exchange) {
		s := c.asH2()
		s.replies(first(s.call()), backend.EchoService, n)
		if stream, _ := s.call(); stream != 0 {
			serve(s, stream, n)
		}
	}
}

func first(stream uint32, _ string) uint32 { return stream }

func grpcMisbehaviours() map[string]misbehaviour {
	wrong := func(serve func(s *h2, stream uint32, n int)) misbehaviour {
		return misbehaviour{requests: 2, serve: overGRPC(serve)}
	}
	with := func(d misbehaviour, want history.Outcome, err string, quick func(*Timeouts)) misbehaviour {
		d.want, d.err, d.quick = want, err, quick
		return d
	}
	return everywhere(map[string]misbehaviour{
		"resets":            with(wrong(func(s *h2, _ uint32, _ int) { s.resets() }), history.Reset, "reset by peer", nil),
		"closes early":      with(wrong(func(*h2, uint32, int) {}), history.ClosedEarly, "EOF", nil),
		"no answer in time": with(wrong(func(s *h2, _ uint32, _ int) { s.waits() }), history.TimeoutResponse, "time-out passed", quickResponse),
		"stalls":            with(wrong(func(s *h2, id uint32, n int) { s.heads(id, n); s.waits() }), history.Stall, "time-out passed", quickRequest),
		"cuts the answer off": with(wrong(func(s *h2, id uint32, n int) {
			s.heads(id, n)
			s.message(id, wrapperspb.String("ok w/grpc/1\n"), 2)
			s.respond(id, true, "grpc-status: 0")
			s.waits()
		}), history.Truncated, "unexpected EOF", nil),
		"wrong body": with(wrong(func(s *h2, id uint32, n int) { s.replies(id, "no", n); s.waits() }), history.WrongBody, `got "ok no\n"`, nil),
		"bad status": with(wrong(func(s *h2, id uint32, n int) {
			s.heads(id, n)
			s.respond(id, true, "grpc-status: 14", "grpc-message: overloaded")
			s.waits()
		}), history.BadStatus, "grpc Unavailable: overloaded", nil),
		"goes away meanwhile": with(wrong(func(s *h2, id uint32, _ int) {
			_ = s.WriteGoAway(id, http2.ErrCodeNo, nil)
		}), history.GoAway, "received prior goaway: code: NO_ERROR", nil),
		"skips an answer":           {never: unordered},
		"breaks an idle connection": {never: "a call whose connection has ended is written to another, for the first time"},
		"refuses a request it has not begun": {want: history.Masked, requests: 2, err: "answered by pod-1", serve: func(_ *testing.T, n int, c *exchange) {
			s := c.asH2()
			stream, asked := s.call()
			if n == 0 {
				s.replies(stream, asked, n)
				_, _ = s.call()
				_ = s.WriteGoAway(stream, http2.ErrCodeNo, nil) // only the first was processed
			} else {
				s.replies(stream, asked, n)
			}
			s.waits()
		}},
	})
}

// TestCallsThatFail has failures of gRPC calls that the table of misbehaviours does not have.
func TestCallsThatFail(t *testing.T) {
	tests := map[string]misbehaviour{
		"the stream is reset": {want: history.Reset, err: "RST_STREAM", serve: overGRPC(func(s *h2, id uint32, _ int) {
			_ = s.WriteRSTStream(id, http2.ErrCodeInternal)
			s.waits()
		})},
		"no gRPC": {want: history.BadStatus, err: "unexpected HTTP status code received from server: 503", serve: overGRPC(func(s *h2, id uint32, _ int) {
			s.respond(id, true, ":status: 503", "content-type: text/plain")
			s.waits()
		})},
		"a status at once": {want: history.BadStatus, err: "grpc Internal: no", serve: overGRPC(func(s *h2, id uint32, n int) {
			s.respond(id, true, ":status: 200", "content-type: application/grpc", "grpc-status: 13", "grpc-message: no")
			s.waits()
		})},
		"closed in the middle of the answer": {want: history.Truncated, serve: overGRPC(func(s *h2, id uint32, n int) { s.heads(id, n) })},
		"not healthy": {want: history.WrongBody, err: `want "SERVING", got "NOT_SERVING"`, serve: func(_ *testing.T, n int, c *exchange) {
			s := c.asH2()
			id, _ := s.call()
			s.heads(id, n)
			s.message(id, &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_NOT_SERVING}, 0)
			s.respond(id, true, "grpc-status: 0")
			s.waits()
		}},
	}
	for name, d := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d.requests = 2; name == "not healthy" {
				d.requests = 1
			}
			kind, _ := KindOf(LaneGRPC)
			d.check(t, kind)
		})
	}
}

// Without a server in the answer, the row has the server that last answered on the connection, as inferred.
func TestCallsNameTheirServer(t *testing.T) {
	url, _ := listen(t, overGRPC(func(s *h2, id uint32, _ int) { s.resets() }))
	l := testLane(t, Lane{Lane: LaneGRPC, Target: url, Rate: 1, Connections: 1, Timeouts: roomy})
	want := []history.Request{
		seen(history.OK, 0, history.Request{Status: 200, Attempts: 1, Conn: 1}),
		inferred(history.Reset, 0, history.Request{Attempts: 1, Conn: 1, Reused: true}),
	}
	got := sendAll(t, l, 2)
	for i := range want {
		w, g := want[i], got[i]
		if w.Outcome != g.Outcome || w.Pod != g.Pod || w.Node != g.Node || w.Inferred != g.Inferred || w.Status != g.Status ||
			w.Attempts != g.Attempts || w.Conn != g.Conn || w.Reused != g.Reused || g.Addr != l.Target[len("http://"):len(l.Target)-1] {
			t.Errorf("got %+v, want %+v", g, w)
		}
	}
}
