package noise

import (
	"sync/atomic"
	"time"
)

// interval is how often a stallMeter wakes up. A pause of the process at least this long is detected.
const interval = 10 * time.Millisecond

// stallMeter wakes up at intervals, and keeps the longest delay.
type stallMeter struct{ worst atomic.Int64 }

// run measures until over is closed.
func (m *stallMeter) run(over <-chan struct{}) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for last := time.Now(); ; {
		select {
		case <-over:
			return
		case <-ticks.C:
			now := time.Now()
			m.note(now.Sub(last) - interval)
			last = now
		}
	}
}

func (m *stallMeter) note(late time.Duration) {
	if int64(late) > m.worst.Load() {
		m.worst.Store(int64(late)) // run is the only writer that raises the value
	}
}

// take returns the longest delay since the last call, and resets it.
func (m *stallMeter) take() time.Duration { return time.Duration(m.worst.Swap(0)) }
