package load

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/noise"
)

// segmentEvery is how often rows are closed into a segment, and so the greatest age of rows that the harness has not seen.
const segmentEvery = 2 * time.Second

// attack is a running plan.
type attack struct {
	worker   string
	plan     Plan // as requested, without defaults
	lanes    []*lane
	record   *recorder
	halt     *halt
	noise    *noises
	finished chan struct{} // every request has its row, the last segment is closed, and the noise is recorded
}

// newAttack prepares a valid plan, which starts now; run plays it. The context is used for its values only: a plan ends by
// itself or by stop, because cancelled requests would look like failures.
func newAttack(ctx context.Context, asked Plan, w *worker) (*attack, error) {
	plan := asked.withDefaults(w.control)
	a := &attack{
		worker:   w.name,
		plan:     asked,
		record:   newRecorder(w.clock, w.maxRows, plan.Lanes),
		halt:     newHalt(),
		noise:    &noises{},
		finished: make(chan struct{}),
	}
	start := max(plan.StartAt, w.clock())
	var ids atomic.Uint64
	for i, l := range plan.Lanes {
		template, err := newTemplate(context.WithoutCancel(ctx), l.Target)
		if err != nil {
			return nil, err
		}
		a.lanes = append(a.lanes, &lane{
			Lane: l, worker: w.name, pacer: pace(l.Rate), template: template,
			carrier: w.connect(l, &ids), record: a.record, counts: a.record.lanes[l.Lane],
			start: start + stagger(i, len(plan.Lanes), l.Rate), end: start + plan.Duration, halt: a.halt,
		})
	}
	return a, nil
}

// stagger delays lane i of n, so that lanes of the same rate send in turn and not at the same moments. Together they detect
// shorter outages than one lane.
func stagger(i, n int, rate float64) time.Duration {
	return time.Duration(float64(i) / float64(n) / rate * float64(time.Second))
}

// run plays all lanes and closes a segment every segmentEvery, until every request has its row.
func (a *attack) run(log *slog.Logger) {
	quiet := noise.Listen(a.worker, a.record.now, a.noise.add)
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
			log.Error("rows are lost", "err", err) // the harness detects that rows are missing by their number
		}
	}
	quiet()
	close(a.finished)
}

// stop halts the load now. Requests in flight still get their answer, or their time-out.
func (a *attack) stop(now history.Offset) { a.halt.stop(now) }

func (a *attack) done() bool {
	select {
	case <-a.finished:
		return true
	default:
		return false
	}
}
