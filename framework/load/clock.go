package load

import (
	"context"
	"fmt"
	"net/http"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// clockTrips is how many times a worker's clock is read. The quickest of them counts: its answer was on the way for the
// shortest time, and so leaves the least doubt about when it was true.
const clockTrips = 16

// estimate tells what to add to the worker's clock to get the run's. It is right within uncertainty, half of the
// quickest round trip, however unequal the two ways were.
func (r *remote) estimate(ctx context.Context) (history.Clock, error) {
	var best history.Clock
	for i := range clockTrips {
		asked := r.now()
		var c Clock
		if err := r.ask(ctx, http.MethodGet, "/clock", nil, &c); err != nil {
			return history.Clock{}, fmt.Errorf("read clock: %w", err)
		}
		trip := r.now() - asked
		if i == 0 || trip/2 < best.Uncertainty {
			best = history.Clock{Worker: c.Worker, Offset: asked + trip/2 - c.Now, Uncertainty: trip / 2}
		}
	}
	return best, nil
}

// again is what a second estimate says of the first: the offset that was used, and how far off it can be by now.
func again(first, second history.Clock) history.Clock {
	drift := second.Offset - first.Offset
	first.Uncertainty = max(first.Uncertainty, drift.Abs()+second.Uncertainty)
	return first
}
