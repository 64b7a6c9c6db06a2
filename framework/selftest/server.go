package selftest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// headerID is in every request of the load. A good answer repeats it.
const headerID = "X-Holdfast-Id"

// idOf is the ID that a request carries in headerID.
func idOf(r *history.Request) string { return fmt.Sprintf("%s/%s/%d", r.Worker, r.Lane, r.Seq) }

// laneOf is the lane of an ID.
func laneOf(id string) history.Lane {
	return history.Lane(path.Base(path.Dir(id)))
}

// outage is a switch that servers share. While an outage is in force, each of them resets every request that it reads.
type outage struct {
	number atomic.Int64 // of the outage in force, from 1; 0: none is
}

// server answers as the backend does, except where it was told to misbehave.
type server struct {
	url    string
	outage *outage
	losses *losses // nil: none

	ctx context.Context

	mu     sync.Mutex
	resets map[string][]int64 // request ID -> the numbers of the outages that reset it; a retry has the same ID
}

// serve starts a server, which ends with the context.
func serve(ctx context.Context, o *outage, l *losses) (*server, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	s := &server{url: "http://" + listener.Addr().String() + "/", outage: o, losses: l, ctx: ctx, resets: make(map[string][]int64)}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go s.accept(listener)
	return s, nil
}

func (s *server) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go s.answer(c.(*net.TCPConn))
	}
}

// answer answers the requests of a connection, one after the other. A connection that carries no request is never reset: the client
// may have opened it in reserve, and a request that it carries after an outage would fail for the outage, unnoticed by the server.
func (s *server) answer(c *net.TCPConn) {
	stop := context.AfterFunc(s.ctx, func() { _ = c.Close() })
	defer stop()
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		id := r.Header.Get(headerID)
		if number := s.outage.number.Load(); number != 0 {
			s.reset(c, id, number)
			return
		}
		if s.losses != nil && s.lose(c, id) {
			return
		}
		text := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nok %s\n", len(id)+4, id)
		if _, err := io.WriteString(c, text); err != nil || r.Close {
			return
		}
	}
}

// reset makes the server end c with an RST, and notes which outage reset which request. It does not note the time: this goroutine may
// stand still between reading the switch and reading the clock.
func (s *server) reset(c *net.TCPConn, id string, number int64) {
	_ = c.SetLinger(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resets[id] = append(s.resets[id], number)
}

// hits are the outages that reset each request so far.
func (s *server) hits() map[string][]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.resets)
}

// lose loses the request if it is its turn.
func (s *server) lose(c *net.TCPConn, id string) bool {
	switch s.losses.next(id) {
	case byReset:
		_ = c.SetLinger(0)
	case byClose:
	case bySilence: // until the client gives up
		_, _ = io.Copy(io.Discard, c)
	default:
		return false
	}
	return true
}

// milliseconds of a duration.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
