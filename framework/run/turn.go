package run

import (
	"context"
	"sync"
)

// turn is whose it is to use the run: one scenario's at a time, and at the end nobody's. Ginkgo leaves a scenario behind that is
// still undoing its faults when a second signal comes, which may be no more than the first one's echo.
type turn struct {
	mu   sync.Mutex
	over bool
}

// begin waits for the scenario before, and tells whether there is still a run.
func (t *turn) begin() bool {
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		return false
	}
	return true
}

func (t *turn) done() { t.mu.Unlock() }

// end waits for the scenario at hand; none is begun after it.
func (t *turn) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
}

// end of a run: the scenario at hand undoes what it did, however often Ginkgo was told to hurry, and the cluster is given back. Who
// does not want to wait for that ends the process; see interrupt.Main.
func (r *runner) end(ctx context.Context) {
	r.turn.end()
	if err := r.pool.discard(ctx); err != nil {
		r.settings.Progress.Note(err.Error()) // it takes nothing from the verdicts
	}
}
