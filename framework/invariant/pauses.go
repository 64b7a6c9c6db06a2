package invariant

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	// queued is how long after a standstill the harness may still be told of what happened meanwhile.
	queued = time.Second
	// longestPause bounds what a sample may say, so that a damaged one counts for no more than a run.
	longestPause = time.Hour
)

// pause takes in a sample of the harness's own process. Whatever it dated while it stood still, or just after, may have happened
// earlier, by as much as that. Promises reckon with a skew between watches; what is longer counts as a gap that was bridged.
func (f *facts) pause(e history.Event) {
	n := *e.Noise
	if n.Of != history.NoiseHarness || n.Pause <= 0 {
		return
	}
	n.Pause = min(n.Pause, longestPause)
	// Who samples may wake up before who measures does: then the next sample has the pause, and begins when it was over.
	n.Since = max(0, min(n.Since, e.T)-n.Pause)
	e.Noise = &n
	f.noise.pauses = append(f.noise.pauses, e)
	if n.Pause > watchSkew {
		f.gaps = append(f.gaps, history.Event{T: e.T, Gap: &history.Gap{
			What: "all objects", Since: n.Since, Bridged: true, Why: "the harness stood still for " + moment(n.Pause),
		}})
	}
}

// paused is how long the harness had stood still at the most when it dated something: by so much earlier it may have happened. A
// stage that the harness marks before it acts may have begun later by as much.
func (f *facts) paused(at history.Offset) (longest time.Duration) {
	for _, e := range f.noise.pauses {
		if e.Noise.Since <= at && at-queued <= e.T {
			longest = max(longest, e.Noise.Pause)
		}
	}
	return longest
}

// lateBy is how much earlier something may have happened than a watch told of it: as long as the harness had stood still, or an echo
// took at that time. An echo that took longer than the skew is a gap.
func (f *facts) lateBy(at history.Offset) time.Duration {
	late := f.paused(at)
	for _, e := range f.noise.echoes {
		if took := e.T - e.Echo.Sent; took <= watchSkew && e.Echo.Sent-queued <= at && at-queued <= e.T {
			late = max(late, took)
		}
	}
	return late
}

// orInTime doubts that something which a watch told of at a moment was too late after a stage that the harness had marked. Nothing:
// it was, whenever both really were.
func (f *facts) orInTime(stage, told history.Offset, limit time.Duration) (d doubts) {
	early, late := f.paused(stage), f.lateBy(told)
	if took := told - stage; took-early-late <= limit {
		d.add("it took %s by the record, and %s was the limit; but the harness may have dated the beginning %s early and the end %s late",
			moment(took), limit, moment(early), moment(late))
	}
	return d
}

// orTooLate doubts that something was in time after a stage that the harness marked when it had seen it, which may have been long
// before.
func (f *facts) orTooLate(seen, at history.Offset, limit time.Duration) (d doubts) {
	if took, late := at-seen, f.paused(seen); late > 0 && took <= limit && took+late > limit {
		d.add("it took %s by the record, and %s was the limit; but the harness had stood still for %s when it dated the beginning",
			moment(took), limit, moment(late))
	}
	return d
}

// stoodStill tells whether the harness stood still, for longer than the skew, when it dated something: the order of what it was told
// of then is lost.
func (f *facts) stoodStill(at history.Offset) bool { return f.paused(at) > watchSkew }

// toldGone are the pods, by UID, of which a watch told after a moment that they had ended, so soon that they may have before it.
func (f *facts) toldGone(at history.Offset) map[string]bool {
	gone := make(map[string]bool)
	for _, e := range f.run.Events {
		if e.Pod != nil && e.T > at && e.T-f.lateBy(e.T) <= at && (e.Pod.Change == history.Deleted || e.Pod.Ended()) {
			gone[e.Pod.UID] = true
		}
	}
	return gone
}
