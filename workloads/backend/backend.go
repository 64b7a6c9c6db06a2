package backend

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-ha/holdfast/workloads/serve"
)

// HTTP headers that the load worker relies on.
const (
	HeaderID       = "X-Holdfast-Id" // of a request; repeated in the response body
	HeaderPod      = "X-Holdfast-Pod"
	HeaderNode     = "X-Holdfast-Node"
	HeaderZone     = "X-Holdfast-Zone"
	HeaderRevision = "X-Holdfast-Revision"
)

// Protocol adds a protocol to a backend: it handles the requests of that protocol, and passes on all others.
type Protocol func(o Options, otherwise http.Handler) http.Handler

// Run waits for the start delay, serves HTTP and the protocols until ctx ends, which stands for SIGTERM, and then shuts down as the options say. A
// broken backend does not serve. Before the start delay has passed nothing listens, so connections are refused, as with any
// server that starts slowly.
func Run(ctx context.Context, o Options, protocols ...Protocol) error {
	if !pass(ctx, o.StartDelay) {
		return nil // SIGTERM during the start delay
	}
	if o.Broken != "" {
		return o.Broken.run(ctx)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("backend: %w", err)
	}
	slog.Info("backend listens", "address", l.Addr(), "pod", o.Pod, "revision", o.Revision)
	handler := o.answers()
	for _, p := range protocols {
		handler = p(o, handler)
	}
	if err := serve.Run(ctx, l, o.Serve, handler); err != nil {
		return fmt.Errorf("backend: %w", err)
	}
	slog.Info("backend ends", "pod", o.Pod)
	return nil
}

// answers identifies the backend, and repeats the request's ID so that a client can match the response to its request.
func (o Options) answers() http.Handler {
	who := o.who()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !pass(r.Context(), o.serviceTime(r.Context())) {
			return // the client went away
		}
		work(o.Work)
		body := "ok " + cmp.Or(r.Header.Get(HeaderID), "-") + "\n"
		maps.Copy(w.Header(), who)
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write([]byte(body)) // an error means that the client went away
	})
}

// serviceTime is the delay for a request that arrives now.
func (o Options) serviceTime(ctx context.Context) time.Duration {
	select {
	case <-serve.Leaving(ctx):
		return cmp.Or(o.EndingTime, o.ServiceTime)
	default:
		return o.ServiceTime
	}
}

// who is the response headers that identify the backend.
func (o Options) who() http.Header {
	return http.Header{HeaderPod: {o.Pod}, HeaderNode: {o.Node}, HeaderZone: {o.Zone}, HeaderRevision: {o.Revision}}
}

// pass waits for span. It returns false if ctx ends first.
func pass(ctx context.Context, span time.Duration) bool {
	if span <= 0 {
		return true
	}
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
