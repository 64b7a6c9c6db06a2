package load

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/pace"
)

// segmentEvery is how often rows are closed into a segment, and so the greatest age of rows that the harness has not seen.
const segmentEvery = 2 * time.Second

// Options of an Attack.
type Options struct {
	// Worker is the worker's name in every row.
	Worker string
	// Control is the URL of the worker's own server.
	Control string
	// Now is the worker's clock.
	Now func() history.Offset
	// MaxRows is how many uncollected rows may be held; zero: DefaultMaxRows.
	MaxRows int
	// Segments gets the rows.
	Segments Segments
	Log      *slog.Logger // nil: slog.Default()
	// Flows tells which pod a connection to a Service leads to; nil: answers name their servers.
	Flows Flows
	// Server gets all requests in place of the lanes' connections; for tests without a network.
	Server http.RoundTripper
}

// Attack is a running plan.
type Attack struct {
	plan   Plan
	now    func() history.Offset
	lanes  []*lane
	record *recorder
	halt   *halt
	log    *slog.Logger

	yielded atomic.Bool
}

// NewAttack prepares a valid plan; Run plays it. The context is used for its values only: a plan ends by
// itself or by Stop, because cancelled requests would look like failures.
func NewAttack(ctx context.Context, plan Plan, o Options) (*Attack, error) {
	plan = plan.withDefaults(o.Control)
	a := &Attack{
		plan: plan, now: o.Now, halt: newHalt(), log: cmp.Or(o.Log, slog.Default()),
		record: newRecorder(o.Now, cmp.Or(o.MaxRows, DefaultMaxRows), plan.Lanes, o.Segments),
	}
	if plan.Yields {
		a.record.tooMany = func(at history.Offset) {
			a.yielded.Store(true)
			a.halt.stop(at)
		}
	}
	shared := &sharedDialer{flows: o.Flows}
	for _, l := range plan.Lanes {
		template, err := l.Request.New(context.WithoutCancel(ctx), l.Target)
		if err != nil {
			return nil, err
		}
		a.lanes = append(a.lanes, &lane{
			Lane: l, share: plan.Share, worker: o.Worker, pacer: pace.Rate(l.Rate), template: template,
			transport: newTransport(l, shared, o.Server), record: a.record, counts: a.record.lanes[l.Lane], halt: a.halt,
		})
	}
	return a, nil
}

// newTransport returns the transport of a lane. All lanes of a worker have the same part of their dialers.
func newTransport(l Lane, shared *sharedDialer, server http.RoundTripper) transport {
	if server != nil {
		return &httpTransport{turns: []http.RoundTripper{server}}
	}
	kind, _ := KindOf(l.Lane)
	return kind.connect(l, newDialer(l, shared))
}

// stagger delays lane i of n, so that lanes of the same rate send in turn and not at the same moments. Together they detect
// shorter outages than one lane.
func stagger(i, n int, rate float64) time.Duration {
	return time.Duration(float64(i) / float64(n) / rate * float64(time.Second))
}

// Run plays all lanes from a moment on, and closes a segment every segmentEvery, until every request has its row and the last segment
// is closed. A moment that has passed does not shift the schedule: what is overdue is sent late, or is Unsent.
func (a *Attack) Run(start history.Offset) {
	for i, s := range a.plan.Starts(start) {
		a.lanes[i].start, a.lanes[i].end = s.Start, start+a.plan.Duration
	}
	var lanes sync.WaitGroup
	for _, l := range a.lanes {
		lanes.Go(l.run)
	}
	played := make(chan struct{})
	go func() {
		lanes.Wait()
		close(played)
	}()
	tick := time.NewTicker(segmentEvery)
	defer tick.Stop()
	for last := false; !last; {
		select {
		case <-tick.C:
		case <-played:
			last = true
		}
		if err := a.record.seal(last); err != nil {
			a.log.Error("rows are lost", "err", err) // the harness detects that rows are missing by their number
		}
	}
}

// Stop ends the load at a moment: no hit is due then or later. Requests in flight still get their answer, or their time-out. A second
// call changes nothing.
func (a *Attack) Stop(at history.Offset) { a.halt.stop(at) }

// Yielded reports whether an answer has said that there are too many requests, and the plan yields to that.
func (a *Attack) Yielded() bool { return a.yielded.Load() }

// Status returns the status of the lanes, in the plan's order.
func (a *Attack) Status() []LaneStatus { return a.record.status(a.plan.Lanes) }

// Held is the number of uncollected rows.
func (a *Attack) Held() int { return int(a.record.held.Load()) }

// Forget makes room: so many rows that were put into segments were collected.
func (a *Attack) Forget(rows int) { a.record.held.Add(-int64(rows)) }
