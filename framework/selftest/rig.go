package selftest

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
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
)

// lanes are the lanes that are measured: with a connection for each request, and with kept connections. Their requests alternate.
var lanes = []history.Lane{history.LaneFresh, history.LaneReused}

// controlRate is the rate of the control lane, the same as in scenarios.
const controlRate = 20

// rig is a real load worker, whose rows a real session collects into a real record, and the server that it sends to.
type rig struct {
	rate    float64 // of each lane, a second
	dir     string
	server  *server
	writer  *history.Writer
	session *collect.Session
	client  *http.Client
	halt    context.CancelFunc // of the worker
	ended   chan error
}

// start starts a server and sends it so many requests a second on each lane, until stop or until the duration ends.
func start(ctx context.Context, o *outage, l *losses, dir string, rate float64, duration time.Duration) (*rig, error) {
	promise, err := invariant.Encode(invariant.NoFailedRequests{})
	if err != nil {
		return nil, err
	}
	r := &rig{rate: rate, dir: dir, client: &http.Client{Transport: &http.Transport{}}, ended: make(chan error, 1)}
	if r.server, err = serve(ctx, o, l); err != nil {
		return nil, err
	}
	header := history.Header{Scenario: "instrument", Claim: "what is recorded is what happened", Promises: []history.Promise{promise}, Plan: &history.Plan{}}
	plan := load.Plan{ID: "instrument", Duration: duration}
	for _, l := range lanes {
		plan.Lanes = append(plan.Lanes, load.Lane{Lane: l, Target: r.server.url, Rate: rate})
	}
	plan.Lanes = append(plan.Lanes, load.Lane{Lane: history.LaneControl, Rate: controlRate})
	for _, l := range plan.Lanes {
		header.Plan.Lanes = append(header.Plan.Lanes, history.LanePlan{Lane: l.Lane, Target: l.Target, RatePerSecond: l.Rate})
	}
	if r.writer, err = history.Create(dir, header); err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the load worker: %w", err), r.writer.Close())
	}
	token := collect.NewToken()
	// The worker outlives an interruption, because its rows have to be collected.
	work, halt := context.WithCancel(context.WithoutCancel(ctx))
	r.halt = halt
	go func() {
		r.ended <- collect.RunWorker(work, collect.WorkerOptions{Name: "instrument", Listener: listener, TokenSum: collect.TokenSum(token)})
	}()
	if err := r.phase(history.Steady); err != nil {
		return nil, errors.Join(err, r.abandon())
	}
	workers := []collect.Worker{{URL: "http://" + listener.Addr().String(), Token: token}}
	if r.session, err = collect.Start(ctx, r.client, workers, plan, r.writer); err != nil {
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

// stopLimit is how long the last requests and their rows may take: a request's time-out, and some calls.
const stopLimit = time.Minute

// stop ends the load and returns the record. An incomplete record is an error.
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

// uncertainty of the worker's clock relative to the record's.
func uncertainty(run history.Run) (most time.Duration) {
	for _, e := range run.Events {
		if e.Clock != nil {
			most = max(most, e.Clock.Uncertainty)
		}
	}
	return most
}

// laneRows are the rows of one lane that failed, and how late its requests were. Good rows are only counted.
type laneRows struct {
	requests, unsent int
	failed           []history.Request
	late             []lateness // by due
}

// lateness is how much later than due a request was sent.
type lateness struct{ due, by time.Duration }

// neverSent is the lateness of an unsent request.
const neverSent = time.Duration(1<<63 - 1)

// timedOut reports whether a request failed only because there was no answer in time. The servers here are never so slow on their
// own: the machine was, and the client's row is true.
func timedOut(o history.Outcome) bool {
	return o == history.TimeoutConnect || o == history.TimeoutResponse || o == history.Stall
}

// leastLag is the lateness of a timer, which does not count as late.
const leastLag = 500 * time.Microsecond

// readRows reads the rows of a record.
func readRows(run history.Run) (map[history.Lane]*laneRows, error) {
	byLane := make(map[history.Lane]*laneRows)
	for _, l := range append(lanes[:len(lanes):len(lanes)], history.LaneControl) {
		byLane[l] = &laneRows{}
	}
	for r, err := range run.Requests() {
		if err != nil {
			return nil, err
		}
		rows := byLane[r.Lane]
		if rows == nil {
			return nil, fmt.Errorf("read the rows: a request is on lane %q, on which no request was sent", r.Lane)
		}
		rows.requests++
		if r.Outcome.Failed() {
			rows.failed = append(rows.failed, *r)
		}
		switch by := r.Sent - r.Due; {
		case r.Outcome == history.Unsent:
			rows.unsent++
			rows.late = append(rows.late, lateness{r.Due, neverSent})
		case by > leastLag:
			rows.late = append(rows.late, lateness{r.Due, by})
		}
	}
	for _, rows := range byLane {
		slices.SortFunc(rows.late, func(a, b lateness) int { return cmp.Compare(a.due, b.due) })
	}
	return byLane, nil
}
