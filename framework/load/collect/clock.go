package collect

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	// clockTrips is how many times a worker's clock is read at the start and at the end. The quickest reading counts, because its
	// uncertainty is the smallest.
	clockTrips = 16
	// clockEvery is how often a worker's clock is compared while the load flows, from the readings that come with its reports. Two
	// clocks of ordinary machines differ by at most some milliseconds more after a minute.
	clockEvery = time.Minute
	// maxStep is the largest change of the offset that later rows are mapped by. A larger one is no drift: a machine was asleep. Rows
	// would change their order by it, so the former offset stays, and the record says how wrong it is.
	maxStep = history.Reorder / 2
)

// wander is by how much two clocks may differ more after a second, in seconds: twice what those of ordinary machines do.
const wander = 100e-6

// reading is one reading of a worker's clock: the offset to add to it to get the run's clock. Its error is at most half of the round trip,
// however unequal the two ways are.
type reading struct{ at, offset, uncertainty history.Offset }

func readAt(asked, answered, worker history.Offset) reading {
	trip := answered - asked
	return reading{at: answered, offset: asked + trip/2 - worker, uncertainty: trip / 2}
}

// later is the uncertainty of a reading at a later moment.
func (r reading) later(at history.Offset) history.Offset {
	return r.uncertainty + history.Offset(wander*float64(max(0, at-r.at)))
}

// estimate reads a worker's clock several times.
func (r *remote) estimate(ctx context.Context) (worker string, best reading, err error) {
	for i := range clockTrips {
		asked := r.now()
		var c Clock
		if err := r.ask(ctx, http.MethodGet, "/clock", nil, &c); err != nil {
			return "", reading{}, fmt.Errorf("read clock: %w", err)
		}
		if one := readAt(asked, r.now(), c.Now); i == 0 || one.uncertainty <= best.later(one.at) {
			worker, best = c.Worker, one
		}
	}
	return worker, best, nil
}

// clock maps a worker's clock to the run's.
type clock struct {
	worker   string
	offset   history.Offset // rows are mapped by it
	measured history.Offset // when it was
	best     *reading       // since then; nil: none yet
}

// newClock begins with a reading.
func newClock(worker string, first reading, at history.Offset) (*clock, history.Clock) {
	return &clock{worker: worker, offset: first.offset, measured: at},
		history.Clock{Worker: worker, Offset: first.offset, Uncertainty: first.uncertainty}
}

// take takes a reading.
func (c *clock) take(r reading) {
	if c.best == nil || r.uncertainty <= c.best.later(r.at) {
		c.best = &r
	}
}

// due reports whether it is time to compare.
func (c *clock) due(at history.Offset) bool { return c.best != nil && at-c.measured >= clockEvery }

// compare compares the clock with the best reading since the last time, and maps later rows by it. Until now rows were mapped by the
// former offset, and so the uncertainty includes how far it has moved.
func (c *clock) compare(at history.Offset) history.Clock {
	step := c.best.offset - c.offset
	told := history.Clock{Worker: c.worker, Offset: c.best.offset, Uncertainty: c.best.later(at) + step.Abs(), Drift: step}
	if step.Abs() <= maxStep {
		c.offset = c.best.offset
	}
	c.measured, c.best = at, nil
	return told
}
