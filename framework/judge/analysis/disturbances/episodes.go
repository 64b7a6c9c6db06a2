package disturbances

import (
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/parts"
)

const (
	// lead is how long before a disturbance an episode begins: long enough for a hundred requests on a lane of ten a second, with which
	// promises compare.
	lead = 15 * time.Second
	// tail is how long after a disturbance an episode lasts at least.
	tail = 30 * time.Second
)

// Episode is a time around disturbances that are close together, of some parts of a recording. Episodes do not overlap.
type Episode struct {
	From, To     history.Offset
	Disturbances []Disturbance
	// Run is the record of the parts in that time, like that of a scenario: the disturbances are its faults, and it has the phases
	// Steady, Disturbed, Recovered and Drained. It has no requests.
	Run history.Run
}

// Involuntary says whether one of the disturbances is involuntary.
func (e *Episode) Involuntary() bool {
	return slices.ContainsFunc(e.Disturbances, func(d Disturbance) bool { return !d.Kind.Voluntary() })
}

// Voluntary says whether one of the disturbances is voluntary.
func (e *Episode) Voluntary() bool {
	return slices.ContainsFunc(e.Disturbances, func(d Disturbance) bool { return d.Kind.Voluntary() })
}

// Episodes are those of the disturbances that count and that touch some parts, in order. Each lasts for watched after its last
// disturbance, or until the recording is no longer judged. In a recording of a command, the whole time of the command is one of them.
func (r *Recording) Episodes(watched time.Duration, list ...*parts.Part) (all []*Episode) {
	watched = max(watched, tail)
	if begin, end, ok := r.Command(); ok {
		all = append(all, r.around(begin, end, watched))
	}
	for i := range r.All {
		d := &r.All[i]
		if !r.Counts(d) || !r.Touches(d, list...) {
			continue
		}
		e := r.around(d.From, d.lasts(), watched)
		e.Disturbances = []Disturbance{*d}
		all = append(all, e)
	}
	all = slices.DeleteFunc(join(all), func(e *Episode) bool { return len(e.Disturbances) == 0 })
	for _, e := range all {
		e.Run = r.cut(e, list)
	}
	return all
}

// undone is how long after a disturbance its end may come, such as that a node is uncordoned, to belong to its episode.
const undone = 30 * time.Minute

// lasts is until when a disturbance lasts: until it was over, and undone if that was soon.
func (d *Disturbance) lasts() history.Offset {
	over := max(d.Seen, d.Over)
	if d.Told > over && d.Told-over <= undone {
		return d.Told
	}
	return over
}

// around is an episode around a time.
func (r *Recording) around(from, to history.Offset, watched time.Duration) *Episode {
	return &Episode{From: max(r.steady, from-lead), To: min(r.during, to+watched)}
}

// join joins episodes that overlap.
func join(all []*Episode) (joined []*Episode) {
	slices.SortStableFunc(all, func(a, b *Episode) int { return int(a.From - b.From) })
	for _, e := range all {
		n := len(joined)
		if n == 0 || e.From > joined[n-1].To {
			joined = append(joined, e)
			continue
		}
		last := joined[n-1]
		last.To, last.Disturbances = max(last.To, e.To), append(last.Disturbances, e.Disturbances...)
	}
	return joined
}

// Command is when the command of a recording ran; of one that had not ended, until the recording is no longer judged. Not ok: there was
// none, or its beginning is not in the record.
func (r *Recording) Command() (begin, end history.Offset, ok bool) {
	if len(r.run.Header.Recorded.Command) == 0 {
		return 0, 0, false
	}
	for _, s := range timeline.Steps(r.run) {
		if s.What != history.CommandStep || !s.Begin.OK {
			continue
		}
		if !s.End.OK {
			return s.Begin.At, r.during, true
		}
		return s.Begin.At, s.End.At, true
	}
	return 0, 0, false
}

// cut is the record of an episode.
func (r *Recording) cut(e *Episode, list []*parts.Part) history.Run {
	events := r.Parts.Events(e.From, e.To, list...)
	marks := r.marks(e, list)
	header := r.run.Header
	all := make([]history.Event, 0, len(events)+len(marks)+1)
	all = append(all, history.Event{Header: &header})
	all = append(append(all, events...), marks...)
	slices.SortStableFunc(all, byTime)
	return history.Run{Header: header, Events: all, Incomplete: r.run.Incomplete}
}

// Quiet is the record of some parts without any disturbance, to judge what happened while nothing was disturbed. It has what the load
// workers counted.
func (r *Recording) Quiet(list ...*parts.Part) history.Run {
	run := r.cut(&Episode{From: r.steady, To: r.during}, list)
	for _, e := range r.run.Events {
		if e.Load != nil {
			run.Events = append(run.Events, e)
		}
	}
	slices.SortStableFunc(run.Events, byTime)
	return run
}

// Unclear are the involuntary disturbances that touch some parts and do not count: what failed because of them is not known. They are over when failures
// must have ended, which last for a time. A pod on a node that stays may take its grace period to end.
func (r *Recording) Unclear(lasts func(Kind) time.Duration, list ...*parts.Part) (all []Disturbance) {
	for _, d := range r.All {
		if r.Counts(&d) || d.Kind.Voluntary() || !r.Touches(&d, list...) {
			continue
		}
		for _, p := range d.Pods {
			if d.Kind != NodeLost {
				d.Over = max(d.Over, r.gone[p.UID])
			}
		}
		d.Over = max(d.Seen, d.Over) + lasts(d.Kind)
		all = append(all, d)
	}
	return all
}
