package collect

import (
	"context"
	"fmt"
	"net/http"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// clockTrips is how many times a worker's clock is read. The quickest reading counts, because its uncertainty is the smallest.
const clockTrips = 16

// estimate returns the offset to add to the worker's clock to get the run's clock. Its error is at most Uncertainty, half of
// the quickest round trip, however unequal the two ways are.
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

// combine combines two estimates: it keeps the first one's offset, which was used, and widens its uncertainty by the drift
// between the two.
func combine(first, second history.Clock) history.Clock {
	drift := second.Offset - first.Offset
	first.Uncertainty = max(first.Uncertainty, drift.Abs()+second.Uncertainty)
	return first
}
