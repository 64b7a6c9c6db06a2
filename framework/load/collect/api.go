package collect

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
)

// maxPlanBytes bounds a plan, which usually has a few hundred bytes, and more with bodies or with the descriptors of gRPC calls.
const maxPlanBytes = 16 << 20

// api is how a worker is used:
//
//	GET /healthz                           200 once it runs
//	GET /clock                             Clock
//	PUT /plan                              prepares a load.Plan; answers like GET /status
//	POST /start?plan=ID&at=T               begins it at a moment on the worker's clock; answers like GET /status
//	POST /stop?plan=ID&at=T                no hit is due from a moment on; waits for requests in flight; answers like GET /status
//	GET /status?plan=ID                    Status
//	POST /report?plan=ID&stored=N&noise=M  the segments up to N are stored elsewhere and forgotten; answers with a Report, without
//	                                       the first M samples of noise
//	GET /segments/N?plan=ID                the rows of a segment as package history writes them, packed by gzip; 410 if they are lost
//	POST /done?plan=ID                     all rows are stored elsewhere: the worker ends
//
// Each call except /healthz needs the run's token (403 without). All calls may be repeated. A plan other than the current one is 404. A new plan while another is
// running or not collected is 409. So are a plan with a header from a Secret that is not there, one with a gRPC call that the server does
// not describe, and /done while there are rows.
func (w *worker) api() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /clock", func(rw http.ResponseWriter, _ *http.Request) {
		answer(rw, Clock{Worker: w.name, Now: w.clock()})
	})
	mux.HandleFunc("PUT /plan", w.putPlan)
	mux.HandleFunc("POST /start", w.forPlan(w.startPlan))
	mux.HandleFunc("POST /stop", w.forPlan(w.stopPlan))
	mux.HandleFunc("GET /status", w.forPlan(func(rw http.ResponseWriter, _ *http.Request, p *playing) { answer(rw, w.status(p)) }))
	mux.HandleFunc("POST /report", w.forPlan(w.report))
	mux.HandleFunc("GET /segments/{n}", w.forPlan(w.getSegment))
	mux.HandleFunc("POST /done", w.forPlan(w.done))
	guarded := guarded(w.sum, mux)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set(headerWorker, w.instance)
		guarded.ServeHTTP(rw, r)
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
		p.asked.Store(int64(w.clock()))
		serve(rw, r, p)
	}
}

func (w *worker) putPlan(rw http.ResponseWriter, r *http.Request) {
	var plan load.Plan
	err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, maxPlanBytes)).Decode(&plan)
	if err != nil {
		err = fmt.Errorf("read plan: %w", err)
	} else {
		err = plan.Validate()
	}
	if err != nil {
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

func (w *worker) startPlan(rw http.ResponseWriter, r *http.Request, p *playing) {
	if at, ok := momentIn(rw, r); ok {
		p.begin(w, at)
		answer(rw, w.status(p))
	}
}

// stopPlan also begins a plan that was never begun: it has no hit then, and is over.
func (w *worker) stopPlan(rw http.ResponseWriter, r *http.Request, p *playing) {
	at, ok := momentIn(rw, r)
	if !ok {
		return
	}
	p.attack.Stop(at)
	p.begin(w, at)
	select {
	case <-p.finished:
	case <-r.Context().Done():
	}
	answer(rw, w.status(p))
}

func (w *worker) report(rw http.ResponseWriter, r *http.Request, p *playing) {
	stored, err := numberIn(r, "stored")
	heard, alsoErr := numberIn(r, "noise")
	if err := errors.Join(err, alsoErr); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	p.store(stored)
	answer(rw, Report{Status: w.status(p), Segments: p.segments.after(stored), Noise: p.noise.after(heard), Now: w.clock()})
}

func (w *worker) getSegment(rw http.ResponseWriter, r *http.Request, p *playing) {
	n, err := strconv.Atoi(r.PathValue("n"))
	one, found := p.segments.get(n)
	if err != nil || !found {
		http.Error(rw, fmt.Sprintf("no segment %s", r.PathValue("n")), http.StatusNotFound)
		return
	}
	if err := one.load(); err != nil {
		http.Error(rw, fmt.Sprintf("segment %d is lost: %s", n, err), http.StatusGone)
		return
	}
	rw.Header().Set("Content-Type", "application/gzip")
	_ = one.writeTo(rw) // a reader detects a missing end by the checksum
}

// done lets the worker end, which loses nothing any more.
func (w *worker) done(rw http.ResponseWriter, _ *http.Request, p *playing) {
	if p.begun() && (!p.done() || !p.segments.empty()) {
		http.Error(rw, fmt.Sprintf("plan %s is running or not yet collected", p.plan.ID), http.StatusConflict)
		return
	}
	rw.WriteHeader(http.StatusNoContent)
	w.leave.Do(func() { close(w.collected) })
}

// momentIn is the moment at, on the worker's clock.
func momentIn(rw http.ResponseWriter, r *http.Request) (at history.Offset, ok bool) {
	at, err := time.ParseDuration(r.URL.Query().Get("at"))
	if err != nil {
		http.Error(rw, "at is not a moment", http.StatusBadRequest)
	}
	return at, err == nil
}

// numberIn is a number in the query; 0 if it is not there.
func numberIn(r *http.Request, name string) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s is not a number", name)
	}
	return n, nil
}
