package run

import (
	"context"
	"sync"
)

// turn lets one scenario at a time use the runner, and none after the end. It is needed because Ginkgo, after a second signal,
// abandons a scenario that is still reverting its faults, even if that signal was an echo of the first.
type turn struct {
	mu   sync.Mutex
	over bool
}

// begin waits for the scenario before. It returns false if the run has ended.
func (t *turn) begin() bool {
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		return false
	}
	return true
}

func (t *turn) done() { t.mu.Unlock() }

// end waits for the present scenario. No other scenario begins after it.
func (t *turn) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
}

// end ends a run: the present scenario reverts its faults, however many signals Ginkgo has received, and the cluster is given
// back. A user who does not want to wait ends the process; see interrupt.Main.
func (r *runner) end(ctx context.Context) {
	r.turn.end()
	if err := r.pool.discard(ctx); err != nil {
		r.settings.Progress.Note(err.Error()) // the verdicts stay valid
	}
}
