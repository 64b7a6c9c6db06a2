// Package exporter audits a cluster again and again, and serves what it finds as metrics for Prometheus. The folder deploy has what runs
// it in a cluster, alerting rules and a dashboard.
package exporter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// Shortest is the shortest time between two readings that a user may ask for: each lists every pod, which the API server notices.
const Shortest = 10 * time.Second

// readLimit bounds one reading.
const readLimit = 2 * time.Minute

// mostSeries bounds the series with labels of workloads. 5,000 pods in 1,000 workloads have about 6,000.
const mostSeries = 10_000

// Limits of the server. Its clients are unknown, so none may hold a connection for long, or many responses at once.
const (
	requestLimit  = 10 * time.Second
	responseLimit = 30 * time.Second
	idleLimit     = 2 * time.Minute
	mostScrapes   = 4
	shutdownLimit = 5 * time.Second
)

// Options of an exporter.
type Options struct {
	// Client reads the cluster.
	Client kubernetes.Interface
	Scope  audit.Scope
	// Every is the time from the beginning of a reading to that of the next.
	Every   time.Duration
	Version string
}

// Exporter audits a cluster until it is told to end. Its metrics show the last reading.
type Exporter struct {
	o      Options
	series int
	now    atomic.Pointer[reading]
}

// reading is what the exporter knows between two readings. It is not changed once it is published.
type reading struct {
	taken      time.Time // when the last reading that succeeded began; zero: none has succeeded
	took       time.Duration
	workloads  int
	findings   []audit.Finding
	pending    []audit.Pending
	skews      []audit.Skew
	notChecked []audit.NotChecked

	ended               time.Time // when the last reading ended, however it ended
	successes, failures int
}

// New returns an exporter that has read nothing yet.
func New(o Options) *Exporter {
	e := &Exporter{o: o, series: mostSeries}
	e.now.Store(&reading{ended: time.Now()})
	return e
}

// Serve reads the cluster and answers on the listener until ctx ends. It returns an error only if it cannot serve.
func (e *Exporter) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: e.handler(), ReadTimeout: requestLimit, WriteTimeout: responseLimit, IdleTimeout: idleLimit}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		e.readRepeatedly(ctx)
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
		if server.Shutdown(ending) != nil { // a client is slow
			_ = server.Close()
		}
		return nil
	})
	return group.Wait()
}

func (e *Exporter) readRepeatedly(ctx context.Context) {
	for {
		began := time.Now()
		e.read(ctx)
		if poll.Pass(ctx, max(e.o.Every-time.Since(began), 0)) != nil {
			return
		}
	}
}

// read reads the cluster once and publishes what was found. After a reading that failed, everything is as it was last seen.
func (e *Exporter) read(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	cluster, err := audit.Read(limited, e.o.Client, e.o.Scope)
	if ctx.Err() != nil {
		return // the reading was cut off because the exporter ends
	}
	next := *e.now.Load()
	if err != nil {
		slog.WarnContext(ctx, "the cluster could not be read", "cause", err)
		next.failures++
	} else {
		next.replace(cluster, audit.Audit(cluster, audit.Options{Skip: e.o.Scope.Skip}))
		next.successes++
	}
	next.ended = time.Now()
	e.now.Store(&next)
}

// replace replaces what was found before, except what this reading can neither confirm nor deny: an alert must not end because the
// exporter has lost a permission.
func (r *reading) replace(c audit.Cluster, report audit.Report) {
	before := *r
	r.taken, r.took, r.workloads, r.notChecked = c.Taken, time.Since(c.Taken), report.Workloads, report.NotChecked
	r.findings, r.pending, r.skews = report.Findings, audit.PendingOnConstraints(c), audit.Skews(c)
	found := map[string]bool{}
	for _, f := range r.findings {
		found[f.Rule+" "+f.Object()] = true
	}
	for _, f := range before.findings {
		if !found[f.Rule+" "+f.Object()] && report.Unsettled(&c, f.Rule, f.Namespace, f.Kind, f.Name) {
			r.findings = append(r.findings, f)
		}
	}
	pending := map[string]bool{}
	for _, p := range r.pending {
		pending[p.Object()] = true
	}
	for _, p := range before.pending {
		if !pending[p.Object()] && report.Unsettled(&c, audit.PendingRule, p.Namespace, p.Kind, p.Name) {
			r.pending = append(r.pending, p)
		}
	}
}

func (e *Exporter) handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(e, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: mostScrapes}))
	mux.HandleFunc("GET /healthz", e.healthz)
	return mux
}

// healthz fails if readings no longer end. A reading that fails is as good as one that succeeds: a restart would not help.
func (e *Exporter) healthz(w http.ResponseWriter, _ *http.Request) {
	if ended := e.now.Load().ended; time.Since(ended) > e.o.Every+2*readLimit {
		http.Error(w, "no reading of the cluster has ended since "+ended.UTC().Format(time.RFC3339), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}
