package serve

import (
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

// AtTerm says what a server does at SIGTERM.
type AtTerm string

// The ways to end. Only Drain loses nothing.
const (
	// Drain stops listening, as servers do, which is why pods need a preStop sleep: clients must have stopped connecting.
	// On the connections that are open it goes on answering, and asks clients to leave them, until nothing has come for
	// Options.Quiet: on HTTP/1.1 each answer says "Connection: close", on HTTP/2 a GOAWAY says it at once, and handlers
	// that last learn of it from Leaving. Then it closes what is left and exits. It cuts no request.
	Drain AtTerm = "drain"
	// Shutdown is what net/http's own Shutdown does, and no more: it finishes the requests that are in flight. Connections
	// that last, such as WebSockets, are not its business, and end with the process; idle ones are closed with what is on
	// its way to them, and on HTTP/2 that is refused.
	Shutdown AtTerm = "shutdown"
	// Drop exits at once and cuts what is in flight.
	Drop AtTerm = "drop"
	// Hold serves on as if nothing had happened, closes no connection, and exits after Options.Limit with all of them
	// open. Like Drop it cuts what is in flight then.
	//
	// An exit between two requests lets nobody down, and most are. But a mutant must be caught every time, so both set a trap: they
	// wait up to a second for a request that comes, or is about to be answered, and cut that.
	Hold AtTerm = "hold"
	// DropUntrapped and HoldUntrapped end as Drop and Hold do, and set no trap: as a server of someone's does, which is not made to
	// be caught. They exit when it is time, and whether that cuts a request is chance.
	DropUntrapped AtTerm = "drop-untrapped"
	HoldUntrapped AtTerm = "hold-untrapped"
)

// Traps tells whether the server waits for a request that it can hurt.
func (a AtTerm) Traps() bool { return a == Drop || a == Hold }

// ways to end, as they are written.
var ways = []AtTerm{Drain, Shutdown, Drop, Hold, DropUntrapped, HoldUntrapped}

// Ways lists the ways to end in words, for help texts and errors.
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
	// DefaultQuiet is longer than clients of ours keep an idle connection (1 s): the client closes it before the server
	// does, so that no request can be under way on it. HTTP/1.1 has no safer way.
	DefaultQuiet = 2 * time.Second
	// DefaultLimit leaves room within Kubernetes' grace period of 30 s for a preStop sleep.
	DefaultLimit = 20 * time.Second
)

// Options of a server. The zero value drains.
type Options struct {
	AtTerm AtTerm        // default Drain
	Quiet  time.Duration // default DefaultQuiet
	// Limit bounds a Drain and is the length of a Hold, with a trap or without; default DefaultLimit.
	Limit time.Duration
	// CloseAfter closes a connection, in order, after so many requests; 0: never.
	CloseAfter int
	// Ready is what /readyz says; nil: always ready.
	Ready func() bool
}

func (o Options) withDefaults() Options {
	if o.AtTerm == "" {
		o.AtTerm = Drain
	}
	if o.Quiet == 0 {
		o.Quiet = DefaultQuiet
	}
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	return o
}

// Validate says what of the options makes no sense.
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

// Run serves h on l until ctx ends, which stands for SIGTERM, and then ends as o.AtTerm says. /healthz and /readyz are
// answered here and are no traffic: probes go on while a pod ends, and must not keep it. It returns nil after every
// end that o asks for, and an error when a drain had to cut requests or the listener broke.
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
	// trap, once set, takes every request that has not been answered yet.
	trap atomic.Pointer[trap]
}

// patience with a connection that says nothing: longer than Go clients keep one in their pool (90 s), because one that
// the server closes may have a request under way. It holds for a connection that was dialled and not used yet, too.
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
		MaxHeaderBytes:    16 << 10, // no client of ours sends a kilobyte
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
	s.http.Protocols.SetHTTP1(true)
	s.http.Protocols.SetUnencryptedHTTP2(true) // for clients that begin with it; the others get HTTP/1.1
	return s
}

// end does what AtTerm says.
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

// drain waits until nobody asks any more, then closes. A quarter of the limit is kept for what is in flight then.
//
// http.Server.Shutdown alone would cut requests: it closes every connection that is idle at that moment, also one on
// which a request has been sent and not yet been read. On HTTP/2 it would refuse those that are on their way, and of
// what lasts it knows nothing.
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

// looks is how often waitQuiet looks while it is quiet.
const looks = 50

// waitQuiet returns when the traffic has been quiet for long enough, or after most. It counts looks instead of asking
// the clock: to a process that was starved or frozen meanwhile, a request that waits to be read is no quiet.
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

// trapLimit bounds the wait for a request to cut.
const trapLimit = time.Second

// cut closes everything: at once, or, with a trap, when that hurts somebody for certain, or at the limit.
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
