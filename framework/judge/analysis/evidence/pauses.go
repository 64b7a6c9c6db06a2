package evidence

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

const (
	// queued is how long after a pause changes from during the pause may still arrive.
	queued = time.Second
	// longestPause bounds the pause of a sample, so that a damaged sample cannot exceed a run.
	longestPause = time.Hour
)

// pause takes in a sample of the harness's own process. Everything that the harness recorded during a pause, or just after it, may have
// happened earlier by as much. Promises allow for WatchSkew between watches; a longer pause counts as a gap that was bridged.
func (f *Run) pause(e history.Event) {
	n := *e.Noise
	if n.Of != history.NoiseHarness || n.Pause <= 0 {
		return
	}
	n.Pause = min(n.Pause, longestPause)
	// The sampler may wake up before the measuring goroutine. Then the next sample has the pause, and begins after it.
	n.Since = max(0, min(n.Since, e.T)-n.Pause)
	e.Noise = &n
	f.Noise.pauses = append(f.Noise.pauses, e)
	if n.Pause > WatchSkew {
		f.Gaps = append(f.Gaps, history.Event{T: e.T, Gap: &history.Gap{
			What: "all objects", Since: n.Since, Bridged: true, Why: "the harness was paused for " + prose.Moment(n.Pause),
		}})
	}
}

// paused is the longest pause of the harness around the moment at which it recorded an event: the event may have happened earlier by as
// much. A stage that the harness records before it acts may have begun later by as much.
func (f *Run) paused(at history.Offset) (longest time.Duration) {
	for _, e := range f.Noise.pauses {
		if e.Noise.Since <= at && at-queued <= e.T {
			longest = max(longest, e.Noise.Pause)
		}
	}
	return longest
}

// LateBy is how much earlier than recorded a watched change may have happened: by the harness's pause, or by the delay of an echo at that
// time. An echo that took longer than WatchSkew is a gap.
func (f *Run) LateBy(at history.Offset) time.Duration {
	late := f.paused(at)
	for _, e := range f.Noise.echoes {
		if took := e.T - e.Echo.Sent; took <= WatchSkew && e.Echo.Sent-queued <= at && at-queued <= e.T {
			late = max(late, took)
		}
	}
	return late
}

// MayBeInTime reports that a change, recorded at told, may have been within the limit of a stage after all, or would have been if the machine
// had not been slow meanwhile, which v counts. Nothing: it was too late, whenever the two really happened.
func (f *Run) MayBeInTime(v *verdict.Verdict, stage, told history.Offset, limit time.Duration) (d verdict.Missing) {
	early, late := f.paused(stage), f.LateBy(told)
	slowed, why := f.Slowed(stage, told)
	switch took := told - stage; {
	case slowed > 0 && took-slowed <= limit:
		d.Add("it took %s by the record, and %s was the limit, but the machine was slow for %s of it: it %s", prose.Moment(took), limit, prose.Moment(slowed), why.Words)
		why.Count(v, 1)
	case took-early-late <= limit:
		d.Add("it took %s by the record, and %s was the limit, but the harness may have recorded the start %s early and the end %s late",
			prose.Moment(took), limit, prose.Moment(early), prose.Moment(late))
	}
	return d
}

// MayBeTooLate reports that a change within the limit of a stage may have been too late: the harness recorded the stage when it saw it, which
// may have been long after the stage began.
func (f *Run) MayBeTooLate(seen, at history.Offset, limit time.Duration) (d verdict.Missing) {
	if took, late := at-seen, f.paused(seen); late > 0 && took <= limit && took+late > limit {
		d.Add("it took %s by the record, and %s was the limit, but the harness had been paused for %s when it recorded the start",
			prose.Moment(took), limit, prose.Moment(late))
	}
	return d
}

// HarnessPaused says whether the harness was paused for longer than WatchSkew around a moment: the order of the changes around it is lost.
func (f *Run) HarnessPaused(at history.Offset) bool { return f.paused(at) > WatchSkew }

// MayHaveEndedBefore are the pods, by UID, that ended so soon after a moment, according to the watch, that they may have ended before it.
func (f *Run) MayHaveEndedBefore(at history.Offset) map[string]bool {
	gone := make(map[string]bool)
	for _, e := range f.Record.Events {
		if e.Pod != nil && e.T > at && e.T-f.LateBy(e.T) <= at && (e.Pod.Change == history.Deleted || e.Pod.Ended()) {
			gone[e.Pod.UID] = true
		}
	}
	return gone
}
