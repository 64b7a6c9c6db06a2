package instrument

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// headerID is in every request of the load; the right answer repeats it.
const headerID = "X-Holdfast-Id"

// outage is a switch: while it is down, every server that has it resets each connection that it gets or that carries a
// request.
type outage struct {
	down  atomic.Bool
	reset atomic.Int64 // when the latest was, in nanoseconds since base
	base  time.Time
}

// server answers like the backend, but for what it is told to do wrong.
type server struct {
	url    string
	outage *outage
	losses *losses // nil: none

	ctx   context.Context
	conns sync.WaitGroup
}

// serve runs a server until the context ends, and returns when it listens.
func serve(ctx context.Context, o *outage, l *losses) (*server, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	s := &server{url: "http://" + listener.Addr().String() + "/", outage: o, losses: l, ctx: ctx}
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
		s.conns.Go(func() { s.talk(c.(*net.TCPConn)) })
	}
}

func (s *server) talk(c *net.TCPConn) {
	stop := context.AfterFunc(s.ctx, func() { _ = c.Close() })
	defer stop()
	defer func() { _ = c.Close() }()
	if s.outage.down.Load() {
		s.reset(c)
		return
	}
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if s.outage.down.Load() {
			s.reset(c)
			return
		}
		id := r.Header.Get(headerID)
		if s.losses != nil && s.lost(c, id) {
			return
		}
		text := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nok %s\n", len(id)+4, id)
		if _, err := io.WriteString(c, text); err != nil || r.Close {
			return
		}
	}
}

// reset has c's next end be an RST, and notes when.
func (s *server) reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	s.outage.reset.Store(int64(time.Since(s.outage.base)))
}

// lost loses the request if it is its turn.
func (s *server) lost(c *net.TCPConn, id string) bool {
	switch s.losses.next(id) {
	case byReset:
		_ = c.SetLinger(0)
	case byClose:
	case bySilence: // until whoever asked gives up
		_, _ = io.Copy(io.Discard, c)
	default:
		return false
	}
	return true
}
