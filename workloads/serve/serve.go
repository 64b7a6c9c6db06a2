package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// AtTerm is what a server does at SIGTERM.
type AtTerm string

// The ways to shut down. Only Drain loses nothing.
const (
	// Drain stops listening, as servers do. That is why pods need a preStop sleep: clients must have stopped connecting
	// before. On open connections it keeps answering and asks clients to leave, until no request has arrived for
	// Options.Quiet. On HTTP/1.1 each response asks with "Connection: close"; on HTTP/2 a GOAWAY asks at once; handlers of
	// long-lived connections are notified through Leaving. Then it closes the remaining connections and exits. It cuts no
	// request.
	Drain AtTerm = "drain"
	// Shutdown does only what net/http's Shutdown does: it finishes the requests in flight. It ignores long-lived
	// connections such as WebSockets, which end with the process. It closes idle connections even if a request is on its
	// way to them; on HTTP/2 such a request is refused.
	Shutdown AtTerm = "shutdown"
	// Drop exits at once and cuts the requests in flight.
	Drop AtTerm = "drop"
	// Hold keeps serving as if nothing had happened, closes no connection, and exits after Options.Limit with all
	// connections open. Like Drop it then cuts the requests in flight.
	//
	// An exit between two requests harms no client, and most exits happen between requests. But a mutant must be caught
	// every time, so Drop and Hold set a trap: they wait up to a second for a request that arrives, or is about to be
	// answered, and cut it.
	Hold AtTerm = "hold"
	// DropUntrapped and HoldUntrapped shut down like Drop and Hold but set no trap, like a real server. They exit
	// immediately when it is time, and whether that cuts a request is chance.
	DropUntrapped AtTerm = "drop-untrapped"
	HoldUntrapped AtTerm = "hold-untrapped"
)

// Traps reports whether the server waits for a request that it can cut.
func (a AtTerm) Traps() bool { return a == Drop || a == Hold }

// ways are all values of AtTerm.
var ways = []AtTerm{Drain, Shutdown, Drop, Hold, DropUntrapped, HoldUntrapped}

// Ways lists the values of AtTerm for help texts and errors.
func Ways() string {
	words := make([]string, len(ways))
	for i, a := range ways {
		words[i] = string(a)
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Defaults of Options.
const (
	// DefaultQuiet is longer than holdfast's clients keep an idle connection (1 s), so the client closes the connection
	// before the server does, and no request can be on its way. HTTP/1.1 has no safer way.
	DefaultQuiet = 2 * time.Second
	// DefaultLimit leaves time for a preStop sleep within Kubernetes' default grace period of 30 s.
	DefaultLimit = 20 * time.Second
)

// Options of a server. The zero value drains.
type Options struct {
	AtTerm AtTerm        // default Drain
	Quiet  time.Duration // default DefaultQuiet
	// Limit is the maximum duration of a Drain and the duration of a Hold, with or without a trap; default DefaultLimit.
	Limit time.Duration
	// CloseAfter closes a connection cleanly after this number of requests; 0: never.
	CloseAfter int
	// Ready decides the response of /readyz; nil: always ready.
	Ready func() bool
}

func (o Options) withDefaults() Options {
	o.AtTerm = cmp.Or(o.AtTerm, Drain)
	o.Quiet = cmp.Or(o.Quiet, DefaultQuiet)
	o.Limit = cmp.Or(o.Limit, DefaultLimit)
	return o
}

// Validate returns an error if the options are invalid.
func (o Options) Validate() error {
	switch {
	case o.AtTerm != "" && !slices.Contains(ways, o.AtTerm):
		return fmt.Errorf("at SIGTERM %q: want %s", o.AtTerm, Ways())
	case o.Quiet < 0 || o.Limit < 0:
		return fmt.Errorf("quiet %s, limit %s: must not be negative", o.Quiet, o.Limit)
	case o.CloseAfter < 0:
		return fmt.Errorf("close after %d requests: must not be negative", o.CloseAfter)
	}
	return nil
}

// Run serves h on l until ctx ends, which stands for SIGTERM, and then shuts down as o.AtTerm says. Run itself answers
// /healthz and /readyz. Probes do not count as traffic, because they continue while a pod terminates and must not delay it.
// Run returns nil after every shutdown that o asks for, and an error if a drain had to cut requests or the listener failed.
func Run(ctx context.Context, l net.Listener, o Options, h http.Handler) error {
	s := newServer(o.withDefaults(), h)
	known := newListener(l)
	var broke error
	served := make(chan struct{})
	go func() {
		broke = s.http.Serve(known)
		close(served)
	}()
	select {
	case <-served:
		return fmt.Errorf("serve on %s: %w", l.Addr(), broke)
	case <-ctx.Done():
	}
	err := s.end(context.WithoutCancel(ctx), known)
	<-served
	return err
}

type server struct {
	http     http.Server
	options  Options
	next     http.Handler
	traffic  traffic
	lasting  lasting
	draining atomic.Bool
	// trap, once set, holds every request that has not been answered yet.
	trap atomic.Pointer[trap]
}

// patience is how long a silent connection is kept: longer than Go clients keep one in their pool (90 s), because a request
// may be on its way on a connection that the server closes. It also applies to new connections that have not been used yet.
const patience = 2 * time.Minute

func newServer(o Options, h http.Handler) *server {
	s := &server{options: o, next: h, traffic: traffic{unused: map[net.Conn]bool{}}}
	s.lasting = lasting{leaving: make(chan struct{}), closing: make(chan struct{})}
	s.http = http.Server{
		Handler:           s,
		ConnState:         s.traffic.changed,
		ConnContext:       s.connContext,
		Protocols:         new(http.Protocols),
		IdleTimeout:       patience,
		ReadHeaderTimeout: patience,
		MaxHeaderBytes:    16 << 10, // holdfast's clients send less than a kilobyte
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
	s.http.Protocols.SetHTTP1(true)
	s.http.Protocols.SetUnencryptedHTTP2(true) // for clients with prior knowledge; all others get HTTP/1.1
	return s
}

// end shuts down as AtTerm says.
func (s *server) end(ctx context.Context, l *listener) error {
	switch s.options.AtTerm {
	case Shutdown:
		return s.shutdown(ctx, l)
	case Drop, DropUntrapped:
		return s.cut(l)
	case Hold, HoldUntrapped:
		<-time.After(s.options.Limit)
		return s.cut(l)
	default:
		return s.drain(ctx, l)
	}
}

// drain waits until no more requests arrive, then closes. A quarter of the limit is reserved for the requests that are in
// flight then.
//
// http.Server.Shutdown alone would cut requests: it closes every connection that is idle at that moment, even if a request
// has been sent on it and not been read yet. On HTTP/2 it would refuse requests on their way, and it ignores hijacked
// connections.
func (s *server) drain(ctx context.Context, l *listener) error {
	s.draining.Store(true)
	l.goAway()
	close(s.lasting.leaving)
	if err := l.Close(); err != nil {
		return fmt.Errorf("stop listening on %s: %w", l.Addr(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.Limit)
	defer cancel()
	s.waitQuiet(ctx, s.options.Limit*3/4)
	close(s.lasting.closing)
	s.traffic.closeUnused()
	defer l.cut()
	err := s.http.Shutdown(ctx)
	if err == nil {
		err = s.traffic.wait(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("drain: cut what was in flight after %s: %w", s.options.Limit, err), s.http.Close())
	}
	return nil
}

func (s *server) shutdown(ctx context.Context, l *listener) error {
	defer l.cut()
	ctx, cancel := context.WithTimeout(ctx, s.options.Limit)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("shut down: cut what was in flight after %s: %w", s.options.Limit, err), s.http.Close())
	}
	return nil
}

// looks is the number of checks within Options.Quiet.
const looks = 50

// waitQuiet returns when there was no traffic for Options.Quiet, or after most. It counts checks instead of reading the
// clock: if the process was starved or frozen, the elapsed time would count as quiet although a request is waiting to be
// read.
func (s *server) waitQuiet(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(max(s.options.Quiet/looks, time.Microsecond))
	defer tick.Stop()
	seen, _ := s.traffic.state()
	for quiet := 0; quiet < looks; quiet++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		events, inFlight := s.traffic.state()
		if inFlight > 0 || events != seen {
			quiet = -1
		}
		seen = events
	}
}

// trapLimit is how long a trap waits for a request to cut.
const trapLimit = time.Second

// cut closes all connections: immediately, or with a trap when it holds a request, at the latest after trapLimit.
func (s *server) cut(l *listener) error {
	defer l.cut()
	if !s.options.AtTerm.Traps() {
		return s.http.Close()
	}
	t := &trap{caught: make(chan struct{})}
	s.trap.Store(t)
	select {
	case <-t.caught:
	case <-time.After(trapLimit):
	}
	return s.http.Close()
}
