package evidence

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/prose"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

const (
	// queued is how long after a standstill the harness may still be told of what happened meanwhile.
	queued = time.Second
	// longestPause bounds what a sample may say, so that a damaged one counts for no more than a run.
	longestPause = time.Hour
)

// pause takes in a sample of the harness's own process. Whatever it dated while it stood still, or just after, may have happened
// earlier, by as much as that. Promises reckon with a skew between watches; what is longer counts as a gap that was bridged.
func (f *Run) pause(e history.Event) {
	n := *e.Noise
	if n.Of != history.NoiseHarness || n.Pause <= 0 {
		return
	}
	n.Pause = min(n.Pause, longestPause)
	// Who samples may wake up before who measures does: then the next sample has the pause, and begins when it was over.
	n.Since = max(0, min(n.Since, e.T)-n.Pause)
	e.Noise = &n
	f.Noise.pauses = append(f.Noise.pauses, e)
	if n.Pause > WatchSkew {
		f.Gaps = append(f.Gaps, history.Event{T: e.T, Gap: &history.Gap{
			What: "all objects", Since: n.Since, Bridged: true, Why: "the harness stood still for " + prose.Moment(n.Pause),
		}})
	}
}

// paused is how long the harness had stood still at the most when it dated something: by so much earlier it may have happened. A
// stage that the harness marks before it acts may have begun later by as much.
func (f *Run) paused(at history.Offset) (longest time.Duration) {
	for _, e := range f.Noise.pauses {
		if e.Noise.Since <= at && at-queued <= e.T {
			longest = max(longest, e.Noise.Pause)
		}
	}
	return longest
}

// LateBy is how much earlier something may have happened than a watch told of it: as long as the harness had stood still, or an echo
// took at that time. An echo that took longer than the skew is a gap.
func (f *Run) LateBy(at history.Offset) time.Duration {
	late := f.paused(at)
	for _, e := range f.Noise.echoes {
		if took := e.T - e.Echo.Sent; took <= WatchSkew && e.Echo.Sent-queued <= at && at-queued <= e.T {
			late = max(late, took)
		}
	}
	return late
}

// OrInTime doubts that something which a watch told of at a moment was too late after a stage that the harness had marked. Nothing:
// it was, whenever both really were.
func (f *Run) OrInTime(stage, told history.Offset, limit time.Duration) (d verdict.Missing) {
	early, late := f.paused(stage), f.LateBy(told)
	if took := told - stage; took-early-late <= limit {
		d.Add("it took %s by the record, and %s was the limit; but the harness may have dated the beginning %s early and the end %s late",
			prose.Moment(took), limit, prose.Moment(early), prose.Moment(late))
	}
	return d
}

// OrTooLate doubts that something was in time after a stage that the harness marked when it had seen it, which may have been long
// before.
func (f *Run) OrTooLate(seen, at history.Offset, limit time.Duration) (d verdict.Missing) {
	if took, late := at-seen, f.paused(seen); late > 0 && took <= limit && took+late > limit {
		d.Add("it took %s by the record, and %s was the limit; but the harness had stood still for %s when it dated the beginning",
			prose.Moment(took), limit, prose.Moment(late))
	}
	return d
}

// StoodStill tells whether the harness stood still, for longer than the skew, when it dated something: the order of what it was told
// of then is lost.
func (f *Run) StoodStill(at history.Offset) bool { return f.paused(at) > WatchSkew }

// ToldGone are the pods, by UID, of which a watch told after a moment that they had ended, so soon that they may have before it.
func (f *Run) ToldGone(at history.Offset) map[string]bool {
	gone := make(map[string]bool)
	for _, e := range f.Record.Events {
		if e.Pod != nil && e.T > at && e.T-f.LateBy(e.T) <= at && (e.Pod.Change == history.Deleted || e.Pod.Ended()) {
			gone[e.Pod.UID] = true
		}
	}
	return gone
}
