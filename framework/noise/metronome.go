package noise

import (
	"sync/atomic"
	"time"
)

// beat is how long the metronome sleeps each time: what stops a process for as long as this is seen.
const beat = 10 * time.Millisecond

// metronome wakes up again and again, and remembers by how much it was late.
type metronome struct{ worst atomic.Int64 }

// run beats until it is over.
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
		m.worst.Store(int64(late)) // nobody else raises it
	}
}

// take is the worst since the last call.
func (m *metronome) take() time.Duration { return time.Duration(m.worst.Swap(0)) }
