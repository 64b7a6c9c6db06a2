package instrument

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
)

// lanes that are measured: with a connection for each request, and with kept ones. They are sent in turns.
var lanes = []history.Lane{history.LaneFresh, history.LaneReused}

// controlRate is that of the control lane, as scenarios have it.
const controlRate = 20

// rig is a real worker, whose rows a real session collects into a real record.
type rig struct {
	rate    float64 // of each lane, a second
	dir     string
	writer  *history.Writer
	session *collect.Session
	client  *http.Client
	halt    context.CancelFunc // of the worker
	ended   chan error
}

// start has load flow to a target, at so many requests a second on each lane, until stop or the end of the duration.
func start(ctx context.Context, dir, target string, rate float64, duration time.Duration) (r *rig, err error) {
	promise, err := invariant.Encode(invariant.NoFailedRequests{})
	if err != nil {
		return nil, err
	}
	header := history.Header{Scenario: "instrument", Claim: "what is recorded is what happened", Promises: []history.Promise{promise}, Plan: &history.Plan{}}
	plan := load.Plan{ID: "instrument", Duration: duration}
	for _, l := range lanes {
		plan.Lanes = append(plan.Lanes, load.Lane{Lane: l, Target: target, Rate: rate})
	}
	plan.Lanes = append(plan.Lanes, load.Lane{Lane: history.LaneControl, Rate: controlRate})
	for _, l := range plan.Lanes {
		header.Plan.Lanes = append(header.Plan.Lanes, history.LanePlan{Lane: l.Lane, Target: l.Target, RatePerSecond: l.Rate})
	}
	r = &rig{rate: rate, dir: dir, client: &http.Client{Transport: &http.Transport{}}, ended: make(chan error, 1)}
	if r.writer, err = history.Create(dir, header); err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the load worker: %w", err), r.writer.Close())
	}
	// The worker outlives an interruption, for its rows have to be collected.
	work, halt := context.WithCancel(context.WithoutCancel(ctx))
	r.halt = halt
	go func() {
		r.ended <- collect.RunWorker(work, collect.WorkerOptions{Name: "instrument", Listener: listener})
	}()
	if err := r.phase(history.Steady); err != nil {
		return nil, errors.Join(err, r.abandon())
	}
	r.session, err = collect.Start(ctx, r.client, "http://"+listener.Addr().String(), plan, r.writer)
	if err != nil {
		return nil, errors.Join(err, r.abandon())
	}
	return r, nil
}

func (r *rig) phase(name history.PhaseName) error {
	return r.writer.Append(history.Event{T: r.writer.Now(), Phase: &history.Phase{Name: name}})
}

func (r *rig) abandon() error {
	r.halt()
	return errors.Join(<-r.ended, r.writer.Close())
}

// stopLimit bounds the wait for the last requests and their rows: a request's time-out, and some calls.
const stopLimit = time.Minute

// stop ends the load and returns the record, which is whole, or says why not.
func (r *rig) stop(ctx context.Context) (history.Run, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	var errs []error
	for _, p := range []history.PhaseName{history.Disturbed, history.Recovered, history.Drained} {
		errs = append(errs, r.phase(p))
	}
	errs = append(errs, r.session.Stop(ctx), r.abandon())
	r.client.CloseIdleConnections()
	if err := errors.Join(errs...); err != nil {
		return history.Run{}, err
	}
	run, err := history.Open(r.dir)
	if err == nil && run.Incomplete != "" {
		err = fmt.Errorf("read the record back: %s", run.Incomplete)
	}
	return run, err
}

// uncertainty of the worker's clock against the record's.
func uncertainty(run history.Run) (most time.Duration) {
	for _, e := range run.Events {
		if e.Clock != nil {
			most = max(most, e.Clock.Uncertainty)
		}
	}
	return most
}

// notable are the requests of one lane that failed, and those that were sent late, or not at all; the others only count.
type notable struct {
	requests, unsent int
	failed           []history.Request
	late             []lateness // by due
}

// lateness is by how much a request was sent later than it was due.
type lateness struct{ due, by time.Duration }

// never is how late an unsent request is.
const never = time.Duration(1<<63 - 1)

// timedOut tells whether nothing is known but that there was no answer in time. No server here is ever so slow by itself: this
// machine was, and what a client sees then is true.
func timedOut(o history.Outcome) bool {
	return o == history.TimeoutConnect || o == history.TimeoutResponse || o == history.Stall
}

// leastLag is what no request counts as late for: a timer's own.
const leastLag = 500 * time.Microsecond

// sift reads the rows of a record once.
func sift(run history.Run) (map[history.Lane]*notable, error) {
	found := make(map[history.Lane]*notable)
	for _, l := range append(lanes[:len(lanes):len(lanes)], history.LaneControl) {
		found[l] = &notable{}
	}
	for r, err := range run.Requests() {
		if err != nil {
			return nil, err
		}
		n := found[r.Lane]
		if n == nil {
			return nil, fmt.Errorf("a request is of lane %q, on which none was sent", r.Lane)
		}
		n.requests++
		if r.Outcome == history.Unsent {
			n.unsent++
		}
		if r.Outcome.Failed() {
			n.failed = append(n.failed, *r)
		}
		switch by := r.Sent - r.Due; {
		case r.Outcome == history.Unsent:
			n.late = append(n.late, lateness{r.Due, never})
		case by > leastLag:
			n.late = append(n.late, lateness{r.Due, by})
		}
	}
	for _, n := range found {
		slices.SortFunc(n.late, func(a, b lateness) int { return cmp.Compare(a.due, b.due) })
	}
	return found, nil
}
