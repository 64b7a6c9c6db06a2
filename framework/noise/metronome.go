package noise

import (
	"sync/atomic"
	"time"
)

// beat is the interval of the metronome. A pause of the process at least this long is detected.
const beat = 10 * time.Millisecond

// metronome wakes up at every beat, and keeps the longest delay.
type metronome struct{ worst atomic.Int64 }

// run measures until over is closed.
func (m *metronome) run(over <-chan struct{}) {
	ticks := time.NewTicker(beat)
	defer ticks.Stop()
	for last := time.Now(); ; {
		select {
		case <-over:
			return
		case <-ticks.C:
			now := time.Now()
			m.note(now.Sub(last) - beat)
			last = now
		}
	}
}

func (m *metronome) note(late time.Duration) {
	if int64(late) > m.worst.Load() {
		m.worst.Store(int64(late)) // run is the only writer that raises the value
	}
}

// take returns the longest delay since the last call, and resets it.
func (m *metronome) take() time.Duration { return time.Duration(m.worst.Swap(0)) }
