package collect

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/noise"
	"github.com/holdfast-ha/holdfast/framework/load"
)

// playing is a worker's current plan, and what is kept of it until it is collected.
type playing struct {
	plan     load.Plan // as requested, without defaults
	attack   *load.Attack
	segments segmentStore
	noise    noises

	start    sync.Once
	started  chan struct{}
	finished chan struct{} // every request has its row, the last segment is closed, and the noise is recorded

	asked    atomic.Int64 // when the worker was last asked about the plan, by its clock
	untended atomic.Bool
}

// begin plays the plan from a moment on. A second call changes nothing.
func (p *playing) begin(w *worker, at history.Offset) {
	p.start.Do(func() {
		close(p.started)
		go p.play(w, at)
		if p.plan.Untended > 0 {
			go p.tend(w.clock)
		}
		w.log.Info("plan begins", "plan", p.plan.ID, "in", at-w.clock())
	})
}

func (p *playing) play(w *worker, at history.Offset) {
	stopNoise := noise.Start(w.name, nil, w.clock, p.noise.add)
	p.attack.Run(at)
	stopNoise()
	close(p.finished)
}

// tend ends the load when no request about the plan has arrived for as long as the plan allows.
func (p *playing) tend(now func() history.Offset) {
	for {
		silent := now() - history.Offset(p.asked.Load())
		if silent >= p.plan.Untended {
			p.untended.Store(true)
			p.attack.Stop(now())
			return
		}
		select {
		case <-time.After(p.plan.Untended - silent):
		case <-p.finished:
			return
		}
	}
}

// begun reports whether the plan was told when to begin.
func (p *playing) begun() bool { return closed(p.started) }

func (p *playing) done() bool { return closed(p.finished) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// store forgets the segments up to a number: their rows are stored elsewhere.
func (p *playing) store(n int) { p.attack.Forget(p.segments.removeUpTo(n)) }

// status of a plan.
func (w *worker) status(p *playing) Status {
	// Finished is read before the counts: it must not be true with counts that are not final.
	finished := p.done()
	return Status{
		Worker: w.name, Plan: p.plan.ID, Finished: finished, Yielded: p.attack.Yielded(), Untended: p.untended.Load(),
		Lanes: p.attack.Status(), Held: p.attack.Held(), Spilled: p.segments.onDisk(),
	}
}
