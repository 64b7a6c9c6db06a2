package load

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/check"
	"github.com/holdfast-ha/holdfast/framework/load/deadline"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// LaneGRPC is gRPC calls on a few connections.
const LaneGRPC history.Lane = "grpc"

// healthEvery: one in so many calls, starting with the first, goes to gRPC's health service instead of the backend's echo.
const healthEvery = 10

// redialAfter is how long a channel waits after a failed attempt to connect; gRPC's default is a second. Meanwhile it fails
// every call at once, but a row must report what became of its own call, not of an attempt a second ago.
const redialAfter = 50 * time.Millisecond

// keepaliveEvery is the shortest interval that gRPC accepts. Without it, a connection to a dead node would carry calls for a
// quarter of an hour.
const keepaliveEvery = 10 * time.Second

// channels are a lane's gRPC connections, which take turns.
type channels struct {
	turns  []*grpc.ClientConn
	broken error // why there are no channels
	dialer *dialer
	byPort sync.Map                     // *conn by local address, which is all that gRPC reports of a call's connection
	undone atomic.Pointer[failedToDial] // the last failed attempt, nil after a successful one
}

// failedToDial is why a connection could not be made, with its address.
type failedToDial struct{ error }

func newChannels(l Lane, d *dialer) transport {
	all := &channels{dialer: d}
	address, _ := l.address()
	for range l.Connections {
		c, err := grpc.NewClient("passthrough:///"+address,
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(all.dial),
			grpc.WithNoProxy(),
			grpc.WithDisableServiceConfig(), // only gRPC's transparent retries, and no health checks
			grpc.WithDisableRetry(),
			grpc.WithIdleTimeout(0),
			grpc.WithStatsHandler(watcher{all}),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: redialAfter, Multiplier: 1, MaxDelay: redialAfter},
				MinConnectTimeout: l.Timeouts.Connect,
			}),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveEvery, Timeout: l.Timeouts.Response}),
		)
		if err != nil {
			all.broken = err
			return all
		}
		all.turns = append(all.turns, c)
	}
	return all
}

func (c *channels) dial(ctx context.Context, address string) (net.Conn, error) {
	made, err := c.dialer.dial(ctx, "tcp", address)
	if err != nil {
		c.undone.Store(&failedToDial{err})
		return nil, err
	}
	c.undone.Store(nil)
	c.byPort.Store(made.LocalAddr().String(), made)
	return made, nil
}

func (c *channels) close() {
	for _, one := range c.turns {
		_ = one.Close() // the calls have reported any error
	}
}

func (c *channels) sender(l *lane) sender {
	return &callSender{lane: l, through: c, check: check.NewEcho(l.worker, l.Lane.Lane), deadline: &deadline.Deadline{}}
}

// rpc is what a watcher has seen of a call. gRPC does not report its retries otherwise.
type rpc struct {
	mu          sync.Mutex
	attempts    int // that were written to a connection
	first, last *conn
	reused      bool
	head, end   bool // of the answer have arrived
	answering   func()
}

type callKey struct{}

// watcher gets gRPC's events of calls.
type watcher struct{ channels *channels }

func (watcher) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (watcher) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return ctx
}
func (watcher) HandleConn(context.Context, stats.ConnStats) {}

func (w watcher) HandleRPC(ctx context.Context, s stats.RPCStats) {
	c, ok := ctx.Value(callKey{}).(*rpc)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s := s.(type) {
	case *stats.OutHeader:
		c.attempts++
		known, _ := w.channels.byPort.Load(s.LocalAddr.String())
		c.last, _ = known.(*conn)
		if c.attempts == 1 && c.last != nil {
			c.first, c.reused = c.last, c.last.used.Swap(true)
		} else if c.last != nil {
			c.last.used.Store(true)
		}
	case *stats.InHeader:
		c.head = true
		c.answering()
	case *stats.InTrailer:
		c.end = true
	}
}

// callSender sends gRPC calls, one after the other.
type callSender struct {
	lane     *lane
	through  *channels
	deadline *deadline.Deadline
	check    *check.Echo
	call     *rpc
	row      history.Request
}

func (s *callSender) send(k uint64, due history.Offset) {
	l := s.lane
	s.row = history.Request{Worker: l.worker, Lane: l.Lane.Lane, Seq: k, Due: due, Sent: l.record.now()}
	limits := l.Timeouts
	s.call = &rpc{answering: func() { s.deadline.Set(limits.Request - (l.record.now() - s.row.Sent)) }}
	s.deadline.Parent = context.WithValue(l.template.Context(), callKey{}, s.call)
	s.deadline.Renew()
	s.deadline.Set(min(limits.Response, limits.Request))
	body, who, err := s.ask(k)
	s.deadline.Clear()
	s.call.mu.Lock()
	defer s.call.mu.Unlock()
	s.fill(who)
	switch {
	case err != nil:
		s.failed(err)
	case body != string(s.check.Want):
		s.row.Outcome, s.row.Err = history.WrongBody, s.check.Wrong([]byte(body))
	case s.call.attempts > 1:
		s.row.Outcome, s.row.Err = history.Masked, masked(s.call.first, s.row.Pod)
		infer(&s.row, s.call.first)
	default:
		s.row.Outcome = history.OK
	}
	s.row.Bytes = int64(len(body))
	l.record.add(&s.row)
}

// ask makes the call. For a health check the body is the health status, so that a bad status is a wrong body.
func (s *callSender) ask(k uint64) (body string, who metadata.MD, err error) {
	if s.through.broken != nil {
		return "", nil, s.through.broken
	}
	c := s.through.turns[s.lane.turn(k)%uint64(len(s.through.turns))]
	id := s.check.Request(k)
	if k%healthEvery == 0 {
		s.check.Want = append(s.check.Want[:0], grpc_health_v1.HealthCheckResponse_SERVING.String()...)
		asked := &grpc_health_v1.HealthCheckRequest{Service: backend.EchoService}
		answer, err := grpc_health_v1.NewHealthClient(c).Check(s.deadline.Ctx, asked, grpc.Header(&who))
		if err != nil {
			return "", who, err
		}
		return answer.Status.String(), who, nil
	}
	var answer wrapperspb.StringValue
	err = c.Invoke(s.deadline.Ctx, "/"+backend.EchoService+"/Say", wrapperspb.String(id), &answer, grpc.Header(&who))
	return answer.Value, who, err
}

// fill adds the connection to the row, the first of several, and the server that answered.
func (s *callSender) fill(who metadata.MD) {
	c := s.call
	s.row.Attempts, s.row.Reused = c.attempts, c.reused
	if c.first != nil {
		s.row.Conn, s.row.Addr = c.first.id, c.first.addr
	}
	if c.head || c.end {
		s.row.Status = 200 // as in every gRPC answer
	}
	said := server{
		pod: one(who, backend.HeaderPod), node: one(who, backend.HeaderNode), zone: one(who, backend.HeaderZone),
		revision: one(who, backend.HeaderRevision),
	}
	if said.pod == "" {
		infer(&s.row, c.first)
		return
	}
	if c.last != nil {
		c.last.answeredBy(said)
	}
	said.fill(&s.row)
}

func one(md metadata.MD, name string) string {
	if values := md.Get(name); len(values) > 0 {
		return values[0]
	}
	return ""
}
