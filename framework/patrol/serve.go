package patrol

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"
)

// Limits of the server. Who asks is not known, so nobody may hold a connection for long, or many answers at once.
const (
	headerLimit   = 5 * time.Second
	requestLimit  = 10 * time.Second
	answerLimit   = 30 * time.Second
	idleLimit     = 2 * time.Minute
	mostHeader    = 16 << 10
	mostScrapes   = 4
	shutdownLimit = 5 * time.Second
)

// Serve audits the cluster round by round, and answers on the listener, until ctx ends. Then it ends both, and answers what has been
// asked. It returns an error only if it cannot serve.
func (p *Patrol) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: p.handler(), ReadHeaderTimeout: headerLimit, ReadTimeout: requestLimit, WriteTimeout: answerLimit, IdleTimeout: idleLimit,
		MaxHeaderBytes: mostHeader,
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		p.rounds(ctx)
		return nil
	})
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
		defer cancel()
		if server.Shutdown(ending) != nil { // some client takes its time
			_ = server.Close()
		}
		return nil
	})
	return group.Wait()
}

// handler answers GET requests for the page, the metrics and the two probes.
func (p *Patrol) handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(p), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: mostScrapes}))
	mux.HandleFunc("GET /{$}", p.page)
	mux.HandleFunc("GET /healthz", p.alive)
	mux.HandleFunc("GET /readyz", p.ready)
	return mux
}

// stuck is how long after the end of a round the next must have ended.
func (p *Patrol) stuck() time.Duration { return p.o.Every + 2*roundLimit }

// alive answers whether rounds go on, however they end. A process that cannot reach the API server is not better when restarted.
func (p *Patrol) alive(w http.ResponseWriter, _ *http.Request) {
	if tried := p.now.Load().tried; time.Since(tried) > p.stuck() {
		http.Error(w, fmt.Sprintf("no reading of the cluster has ended since %s", tried.UTC().Format(time.RFC3339)), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// ready answers whether there is anything to show.
func (p *Patrol) ready(w http.ResponseWriter, _ *http.Request) {
	if s := p.now.Load(); s.taken.IsZero() {
		reason := "the cluster is being read for the first time"
		if s.failure != "" {
			reason = "the cluster has not been read yet: " + s.failure
		}
		http.Error(w, reason, http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}
