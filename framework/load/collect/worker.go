package collect

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/noise"
)

// DefaultAddr is the address that a worker listens on.
const DefaultAddr = ":8080"

// maxPlanBytes bounds a plan, which usually has a few hundred bytes, and more with bodies or with the descriptors of gRPC calls.
const maxPlanBytes = 16 << 20

// WorkerOptions configure a worker.
type WorkerOptions struct {
	// Name is the worker's name in every row: the name of its pod.
	Name string
	// Listener is what it serves on; nil: it listens on Addr, default DefaultAddr.
	Listener net.Listener
	Addr     string
	// MaxRows is how many uncollected rows it may hold; zero: load.DefaultMaxRows.
	MaxRows int
	// Flows tells which pod a connection leads to; nil: answers name their servers.
	Flows load.Flows
	// Secrets is the folder where the kubelet mounts the Secrets that headers come from.
	Secrets string
	// Spin lets the worker take its own processor time away now and then: a mutant of the harness.
	Spin bool
	Log  *slog.Logger // nil: slog.Default()
}

// RunWorker serves until the context ends; it then stops the load, and all rows that were not collected are lost. Its API:
//
//	GET /healthz                     200 once it runs
//	GET /clock                       Clock
//	PUT /plan                        starts a load.Plan unless it is running already; answers like GET /status
//	POST /stop?plan=ID               stops it, waits for requests in flight, closes the last segment; answers like GET /status
//	GET /status?plan=ID              Status
//	GET /segments?plan=ID&after=N    the closed Segments with a higher number
//	GET /noise?plan=ID&after=N       the worker's own noise, a noise.Sample a second, without the first N
//	GET /segments/N?plan=ID          the rows of a segment as package history writes them, packed by gzip
//	DELETE /segments/N?plan=ID       the rows are stored elsewhere and can be forgotten
//
// All calls are safe to repeat. A plan other than the current one is 404. A new plan while another is running or not
// collected is 409, and so is one with a header from a Secret that is not there,
// or with a gRPC call that the server does not describe.
func RunWorker(ctx context.Context, o WorkerOptions) error {
	w, err := newWorker(ctx, o)
	if err != nil {
		return fmt.Errorf("load worker: %w", err)
	}
	l := o.Listener
	if l == nil {
		var config net.ListenConfig
		if l, err = config.Listen(ctx, "tcp", cmp.Or(o.Addr, DefaultAddr)); err != nil {
			return fmt.Errorf("load worker: %w", err)
		}
	}
	s := newServer(w.api())
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	defer w.end()
	if o.Spin {
		go spin(ctx)
	}
	w.log.Info("load worker listens", "addr", l.Addr().String(), "worker", w.name)
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("load worker: %w", err)
	}
	return nil
}

// worker is the state behind the API.
type worker struct {
	ctx      context.Context // the process's context, used for its values
	name     string
	instance string
	base     time.Time
	control  string
	maxRows  int
	flows    load.Flows
	secrets  string
	log      *slog.Logger
	server   http.RoundTripper // tests without a network replace the lanes' connections

	mu      sync.Mutex
	current *playing
}

// playing is the current plan, and what is kept of it until it is collected.
type playing struct {
	plan     load.Plan // as requested, without defaults
	attack   *load.Attack
	segments segmentStore
	noise    noises
	finished chan struct{} // every request has its row, the last segment is closed, and the noise is recorded
}

func (p *playing) done() bool {
	select {
	case <-p.finished:
		return true
	default:
		return false
	}
}

func newWorker(ctx context.Context, o WorkerOptions) (*worker, error) {
	if o.Name == "" {
		return nil, errors.New("no name")
	}
	control, err := serveControl(ctx, o.Name)
	if err != nil {
		return nil, err
	}
	return &worker{
		ctx: ctx, name: o.Name, instance: rand.Text(), base: time.Now(), control: control,
		maxRows: o.MaxRows, flows: o.Flows, secrets: o.Secrets, log: cmp.Or(o.Log, slog.Default()),
	}, nil
}

// clock is the time since the worker began, on the monotonic clock.
func (w *worker) clock() history.Offset { return time.Since(w.base) }

// end stops the running plan.
func (w *worker) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current != nil {
		w.current.attack.Stop()
	}
}

func (w *worker) api() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /clock", func(rw http.ResponseWriter, _ *http.Request) {
		answer(rw, Clock{Worker: w.name, Now: w.clock()})
	})
	mux.HandleFunc("PUT /plan", w.putPlan)
	mux.HandleFunc("POST /stop", w.forPlan(w.stop))
	mux.HandleFunc("GET /status", w.forPlan(func(rw http.ResponseWriter, _ *http.Request, p *playing) { answer(rw, w.status(p)) }))
	mux.HandleFunc("GET /noise", w.forPlan(w.listNoise))
	mux.HandleFunc("GET /segments", w.forPlan(w.listSegments))
	mux.HandleFunc("GET /segments/{n}", w.forPlan(w.getSegment))
	mux.HandleFunc("DELETE /segments/{n}", w.forPlan(w.deleteSegment))
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set(headerWorker, w.instance)
		mux.ServeHTTP(rw, r)
	})
}

// answer writes JSON. If the connection breaks, the caller notices.
func answer(rw http.ResponseWriter, value any) {
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(value)
}

// forPlan serves requests about the current plan, and answers 404 for any other plan.
func (w *worker) forPlan(serve func(http.ResponseWriter, *http.Request, *playing)) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		p := w.current
		w.mu.Unlock()
		id := r.URL.Query().Get("plan")
		if p == nil || p.plan.ID != id {
			http.Error(rw, fmt.Sprintf("no plan %q", id), http.StatusNotFound)
			return
		}
		serve(rw, r, p)
	}
}

func (w *worker) putPlan(rw http.ResponseWriter, r *http.Request) {
	var plan load.Plan
	if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, maxPlanBytes)).Decode(&plan); err != nil {
		http.Error(rw, "read plan: "+err.Error(), http.StatusBadRequest)
		return
	}
	if err := plan.Validate(); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	p, err := w.adopt(plan)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusConflict)
		return
	}
	answer(rw, w.status(p))
}

// adopt starts a plan, unless it is the current one.
func (w *worker) adopt(plan load.Plan) (*playing, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.current; p != nil {
		switch {
		case reflect.DeepEqual(p.plan, plan):
			return p, nil
		case p.plan.ID == plan.ID:
			return nil, fmt.Errorf("plan %s exists already, with other contents", plan.ID)
		case !p.done() || !p.segments.empty():
			return nil, fmt.Errorf("plan %s is running or not yet collected", p.plan.ID)
		}
	}
	private, err := w.prepared(plan)
	if err != nil {
		return nil, err
	}
	p := &playing{plan: plan, finished: make(chan struct{})}
	p.attack, err = load.NewAttack(w.ctx, private, load.Options{
		Worker: w.name, Control: w.control, Now: w.clock, MaxRows: w.maxRows, Segments: &p.segments, Log: w.log,
		Flows: w.flows, Server: w.server,
	})
	if err != nil {
		return nil, err
	}
	go w.play(p)
	w.log.Info("plan begins", "plan", plan.ID)
	w.current = p
	return p, nil
}

// prepared is a plan with the values of its Secrets, and with the messages of its gRPC calls, whose servers may have to be asked for them.
// It stays in this process: no answer of the API has a plan in it.
func (w *worker) prepared(plan load.Plan) (load.Plan, error) {
	plan.Lanes = slices.Clone(plan.Lanes)
	for i := range plan.Lanes {
		l := &plan.Lanes[i]
		var err error
		if l.Request, err = l.Request.WithSecrets(w.secrets); err != nil {
			return plan, fmt.Errorf("lane %s: %w", l.Lane, err)
		}
		if l.Request, err = l.Request.Resolved(w.ctx, l.Target); err != nil {
			return plan, fmt.Errorf("lane %s: %w", l.Lane, err)
		}
	}
	return plan, nil
}

func (w *worker) play(p *playing) {
	stopNoise := noise.Start(w.name, w.clock, p.noise.add)
	p.attack.Run()
	stopNoise()
	close(p.finished)
}

func (w *worker) status(p *playing) Status {
	// Finished is read before the counts: it must not be true with counts that are not final.
	finished := p.done()
	return Status{Worker: w.name, Plan: p.plan.ID, Finished: finished, Lanes: p.attack.Status(), Held: p.attack.Held()}
}

func (w *worker) stop(rw http.ResponseWriter, r *http.Request, p *playing) {
	p.attack.Stop()
	select {
	case <-p.finished:
	case <-r.Context().Done():
	}
	answer(rw, w.status(p))
}

func (w *worker) listSegments(rw http.ResponseWriter, r *http.Request, p *playing) {
	if after, ok := afterOf(rw, r); ok {
		answer(rw, p.segments.after(after))
	}
}

func (w *worker) listNoise(rw http.ResponseWriter, r *http.Request, p *playing) {
	if after, ok := afterOf(rw, r); ok {
		answer(rw, p.noise.after(after))
	}
}

// afterOf parses the query's after: how much of a list the caller has already.
func afterOf(rw http.ResponseWriter, r *http.Request) (after int, ok bool) {
	after, err := strconv.Atoi(cmp.Or(r.URL.Query().Get("after"), "0"))
	if err != nil {
		http.Error(rw, "after is not a number", http.StatusBadRequest)
	}
	return after, err == nil
}

func (w *worker) getSegment(rw http.ResponseWriter, r *http.Request, p *playing) {
	n, err := strconv.Atoi(r.PathValue("n"))
	one, found := p.segments.get(n)
	if err != nil || !found {
		http.Error(rw, fmt.Sprintf("no segment %s", r.PathValue("n")), http.StatusNotFound)
		return
	}
	rw.Header().Set("Content-Type", "application/gzip")
	_ = one.writeTo(rw) // a reader detects a missing end by the checksum
}

func (w *worker) deleteSegment(rw http.ResponseWriter, r *http.Request, p *playing) {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil {
		http.Error(rw, "segment is not a number", http.StatusBadRequest)
		return
	}
	p.attack.Forget(p.segments.remove(n))
	rw.WriteHeader(http.StatusNoContent)
}
