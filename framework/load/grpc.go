package load

import (
	"context"
	"net"
	"strings"
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
)

// What is called, as the backend has it.
const (
	echoService = "holdfast.Echo"
	echoMethod  = "/" + echoService + "/Say"
	// healthEvery so many calls, the first among them, one asks gRPC's health service instead.
	healthEvery = 10
)

// redialAfter is how long a channel waits after a connection that could not be made; gRPC's own default is a second. In
// between it fails every call at once, and a row is to say what became of a call, not of a connection a second ago.
const redialAfter = 50 * time.Millisecond

// keepaliveEvery is the least that gRPC takes. Without it, a connection to a dead node would carry calls for a quarter of an
// hour.
const keepaliveEvery = 10 * time.Second

// channels are gRPC's connections of a lane, which take turns.
type channels struct {
	turns  []*grpc.ClientConn
	broken error // why there are none
	dialer *dialer
	host   string
	byPort sync.Map                     // *conn by its local address: gRPC tells no more of a call's connection
	undone atomic.Pointer[failedToDial] // the last
}

// failedToDial is why a connection could not be made, and where to.
type failedToDial struct{ error }

func newChannels(l Lane, d *dialer) *channels {
	all := &channels{dialer: d, host: strings.Trim(strings.TrimPrefix(l.Target, "http:"), "/")}
	all.host, _, _ = strings.Cut(all.host, "/")
	for range l.Connections {
		c, err := grpc.NewClient("passthrough:///"+all.host,
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(all.dial),
			grpc.WithNoProxy(),
			grpc.WithDisableServiceConfig(), // no retries but those that gRPC makes of itself, and no waiting for health
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
		_ = one.Close() // what it could tell, the calls have told
	}
}

func (c *channels) sender(l *lane) sender {
	return &callSender{lane: l, through: c, right: newRight(l), alarm: &alarm{}}
}

// rpc is what a watcher has seen of a call. gRPC calls again without a word.
type rpc struct {
	mu          sync.Mutex
	attempts    int // written to a connection
	first, last *conn
	reused      bool
	head, end   bool // of the answer
	answering   func()
}

type callKey struct{}

// watcher is told by gRPC what happens to calls.
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

// callSender sends calls, one after the other.
type callSender struct {
	lane    *lane
	through *channels
	alarm   *alarm
	right   right
	call    *rpc
	row     history.Request
}

func (s *callSender) send(k uint64, due history.Offset) {
	l := s.lane
	s.row = history.Request{Worker: l.worker, Lane: l.Lane.Lane, Seq: k, Due: due, Sent: l.record.now()}
	limits := l.Timeouts
	s.call = &rpc{answering: func() { s.alarm.set(limits.Request - (l.record.now() - s.row.Sent)) }}
	s.alarm.parent = context.WithValue(l.template.Context(), callKey{}, s.call)
	s.alarm.renew()
	s.alarm.set(min(limits.Response, limits.Request))
	body, who, err := s.ask(k)
	s.alarm.off()
	s.call.mu.Lock()
	defer s.call.mu.Unlock()
	s.fill(who)
	switch {
	case err != nil:
		s.failed(err)
	case body != string(s.right.want):
		s.row.Outcome, s.row.Err = history.WrongBody, s.right.got([]byte(body))
	case s.call.attempts > 1:
		s.row.Outcome, s.row.Err = history.Masked, masked(s.call.first, s.row.Pod)
		infer(&s.row, s.call.first)
	default:
		s.row.Outcome = history.OK
	}
	s.row.Bytes = int64(len(body))
	l.record.add(&s.row)
}

// ask makes the call. What health answers is told as its own body, so that a bad one is a wrong body.
func (s *callSender) ask(k uint64) (body string, who metadata.MD, err error) {
	if s.through.broken != nil {
		return "", nil, s.through.broken
	}
	c := s.through.turns[k%uint64(len(s.through.turns))]
	id := s.right.of(k)
	if k%healthEvery == 0 {
		s.right.want = append(s.right.want[:0], grpc_health_v1.HealthCheckResponse_SERVING.String()...)
		asked := &grpc_health_v1.HealthCheckRequest{Service: echoService}
		answer, err := grpc_health_v1.NewHealthClient(c).Check(s.alarm.ctx, asked, grpc.Header(&who))
		if err != nil {
			return "", who, err
		}
		return answer.Status.String(), who, nil
	}
	var answer wrapperspb.StringValue
	err = c.Invoke(s.alarm.ctx, echoMethod, wrapperspb.String(id), &answer, grpc.Header(&who))
	return answer.Value, who, err
}

// fill names the connection, of several the first, and who answered.
func (s *callSender) fill(who metadata.MD) {
	c := s.call
	s.row.Attempts, s.row.Reused = c.attempts, c.reused
	if c.first != nil {
		s.row.Conn, s.row.Addr = c.first.id, c.first.addr
	}
	if c.head || c.end {
		s.row.Status = 200 // what every answer of gRPC has
	}
	said := server{pod: one(who, headerPod), node: one(who, headerNode), zone: one(who, headerZone), revision: one(who, headerRevision)}
	if said.pod == "" {
		infer(&s.row, c.first)
		return
	}
	if c.last != nil && !c.last.knows(said) {
		c.last.who.Store(&said)
	}
	said.fill(&s.row)
}

func one(md metadata.MD, name string) string {
	if values := md.Get(name); len(values) > 0 {
		return values[0]
	}
	return ""
}
