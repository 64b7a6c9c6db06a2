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

// Headers of the contract with the load worker.
const (
	HeaderID       = "X-Holdfast-Id" // of a request: comes back in the body
	HeaderPod      = "X-Holdfast-Pod"
	HeaderNode     = "X-Holdfast-Node"
	HeaderZone     = "X-Holdfast-Zone"
	HeaderRevision = "X-Holdfast-Revision"
)

// Run starts, serves until ctx ends, which stands for SIGTERM, and then ends as the options say; one that is broken does
// not serve. Until the start delay has passed nobody listens: a client that comes earlier is refused, as it would be by
// any server that starts slowly.
func Run(ctx context.Context, o Options) error {
	if !pass(ctx, o.StartDelay) {
		return nil // told to end before it began
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
	if err := serve.Run(ctx, l, o.Serve, o.withGRPC(o.withLasting(o.answers()))); err != nil {
		return fmt.Errorf("backend: %w", err)
	}
	slog.Info("backend ends", "pod", o.Pod)
	return nil
}

// answers says who answers, and repeats the request's id, so that a client knows the answer for its own.
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
		_, _ = w.Write([]byte(body)) // a client that went away needs no answer
	})
}

// serviceTime of a request that comes now.
func (o Options) serviceTime(ctx context.Context) time.Duration {
	select {
	case <-serve.Leaving(ctx):
		return cmp.Or(o.EndingTime, o.ServiceTime)
	default:
		return o.ServiceTime
	}
}

// who answers.
func (o Options) who() http.Header {
	return http.Header{HeaderPod: {o.Pod}, HeaderNode: {o.Node}, HeaderZone: {o.Zone}, HeaderRevision: {o.Revision}}
}

// pass returns true when the time has passed, and false when ctx ended before.
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
