package load

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
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// DefaultAddr is the address that a worker listens on.
const DefaultAddr = ":8080"

// maxPlanBytes bounds a plan, which usually has a few hundred bytes.
const maxPlanBytes = 1 << 20

// WorkerOptions configure a worker.
type WorkerOptions struct {
	// Name is the worker's name in every row: the name of its pod.
	Name string
	// Listener is what it serves on; nil: it listens on Addr, default DefaultAddr.
	Listener net.Listener
	Addr     string
	// MaxRows is how many uncollected rows it may hold; zero: DefaultMaxRows.
	MaxRows int
	Log     *slog.Logger // nil: slog.Default()
}

// RunWorker serves until the context ends; it then stops the load, and all rows that were not collected are lost. Its API:
//
//	GET /healthz                     200 once it runs
//	GET /clock                       Clock
//	PUT /plan                        starts a Plan unless it is running already; answers like GET /status
//	POST /stop?plan=ID               stops it, waits for requests in flight, closes the last segment; answers like GET /status
//	GET /status?plan=ID              Status
//	GET /segments?plan=ID&after=N    the closed Segments with a higher number
//	GET /noise?plan=ID&after=N       the worker's own noise, a noise.Sample a second, without the first N
//	GET /segments/N?plan=ID          the rows of a segment as package history writes them, packed by gzip
//	DELETE /segments/N?plan=ID       the rows are stored elsewhere and can be forgotten
//
// All calls are safe to repeat. A plan other than the current one is 404. A new plan while another is running or not
// collected is 409.
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
	log      *slog.Logger
	connect  func(Lane, *atomic.Uint64) carrier

	mu      sync.Mutex
	present *attack
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
		maxRows: cmp.Or(o.MaxRows, DefaultMaxRows), log: cmp.Or(o.Log, slog.Default()), connect: newCarrier,
	}, nil
}

// clock is the time since the worker began, on the monotonic clock.
func (w *worker) clock() history.Offset { return time.Since(w.base) }

// end stops the running plan.
func (w *worker) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.present != nil {
		w.present.stop(w.clock())
	}
}

func (w *worker) api() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /clock", func(rw http.ResponseWriter, _ *http.Request) {
		answer(rw, Clock{Worker: w.name, Now: w.clock()})
	})
	mux.HandleFunc("PUT /plan", w.putPlan)
	mux.HandleFunc("POST /stop", w.of(w.stop))
	mux.HandleFunc("GET /status", w.of(func(rw http.ResponseWriter, _ *http.Request, a *attack) { answer(rw, w.status(a)) }))
	mux.HandleFunc("GET /noise", w.of(w.listNoise))
	mux.HandleFunc("GET /segments", w.of(w.listSegments))
	mux.HandleFunc("GET /segments/{n}", w.of(w.getSegment))
	mux.HandleFunc("DELETE /segments/{n}", w.of(w.deleteSegment))
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

// of serves requests about the current plan, and answers 404 for any other plan.
func (w *worker) of(serve func(http.ResponseWriter, *http.Request, *attack)) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		a := w.present
		w.mu.Unlock()
		id := r.URL.Query().Get("plan")
		if a == nil || a.plan.ID != id {
			http.Error(rw, fmt.Sprintf("no plan %q", id), http.StatusNotFound)
			return
		}
		serve(rw, r, a)
	}
}

func (w *worker) putPlan(rw http.ResponseWriter, r *http.Request) {
	var p Plan
	if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, maxPlanBytes)).Decode(&p); err != nil {
		http.Error(rw, "read plan: "+err.Error(), http.StatusBadRequest)
		return
	}
	if err := p.Validate(); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	a, err := w.adopt(p)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusConflict)
		return
	}
	answer(rw, w.status(a))
}

// adopt starts a plan, unless it is the current one.
func (w *worker) adopt(p Plan) (*attack, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a := w.present; a != nil {
		switch {
		case reflect.DeepEqual(a.plan, p):
			return a, nil
		case a.plan.ID == p.ID:
			return nil, fmt.Errorf("plan %s exists already, with other contents", p.ID)
		case !a.done() || !a.record.shelf.empty():
			return nil, fmt.Errorf("plan %s is running or not yet collected", a.plan.ID)
		}
	}
	a, err := newAttack(w.ctx, p, w)
	if err != nil {
		return nil, err
	}
	go a.run(w.log)
	w.log.Info("plan begins", "plan", p.ID)
	w.present = a
	return a, nil
}

func (w *worker) status(a *attack) Status {
	// Finished is read before the counts: it must not be true with counts that are not final.
	finished := a.done()
	return Status{
		Worker: w.name, Plan: a.plan.ID, Finished: finished, Lanes: a.record.status(a.plan.Lanes),
		Held: int(a.record.held.Load()),
	}
}

func (w *worker) stop(rw http.ResponseWriter, r *http.Request, a *attack) {
	a.stop(w.clock())
	select {
	case <-a.finished:
	case <-r.Context().Done():
	}
	answer(rw, w.status(a))
}

func (w *worker) listSegments(rw http.ResponseWriter, r *http.Request, a *attack) {
	if after, ok := afterOf(rw, r); ok {
		answer(rw, a.record.shelf.after(after))
	}
}

func (w *worker) listNoise(rw http.ResponseWriter, r *http.Request, a *attack) {
	if after, ok := afterOf(rw, r); ok {
		answer(rw, a.noise.after(after))
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

func (w *worker) getSegment(rw http.ResponseWriter, r *http.Request, a *attack) {
	n, err := strconv.Atoi(r.PathValue("n"))
	one, found := a.record.shelf.get(n)
	if err != nil || !found {
		http.Error(rw, fmt.Sprintf("no segment %s", r.PathValue("n")), http.StatusNotFound)
		return
	}
	rw.Header().Set("Content-Type", "application/gzip")
	_ = one.writeTo(rw) // a reader detects a missing end by the checksum
}

func (w *worker) deleteSegment(rw http.ResponseWriter, r *http.Request, a *attack) {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil {
		http.Error(rw, "segment is not a number", http.StatusBadRequest)
		return
	}
	a.record.collected(n)
	rw.WriteHeader(http.StatusNoContent)
}
