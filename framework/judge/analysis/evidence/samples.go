package evidence

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

const (
	// unheard is how long there may be no sample of the harness's own process outside of its pauses. Samples come every second.
	unheard = 3 * time.Second
	// unechoed is the same for the changes that the harness makes to see how late the watches are: one follows another after a second,
	// and each may take five seconds.
	unechoed = 10 * time.Second
)

// heard reports times, from a moment on, without samples of the harness itself, in a record that should have them. A harness that is
// paused takes no samples, and must not look undisturbed.
func (f *Run) heard(from history.Offset) (d verdict.Missing) {
	if f.Record.Header.Samples < history.SamplesOfItself {
		return nil
	}
	from, to := max(from, f.Begin(), f.watched()), f.End()
	if at, hole := holeIn(from, to, unheard, f.Record.Events, func(e history.Event) (history.Offset, bool) {
		if e.Noise == nil || e.Noise.Of != history.NoiseHarness {
			return 0, false
		}
		return e.Noise.Since, true
	}); hole > 0 {
		d.Add("%s for %s from %s, so %s", f.silent(at, hole)...)
	}
	if f.Record.Header.Samples != history.SamplesOfItself {
		return d
	}
	if at, hole := holeIn(from, to, unechoed, f.Record.Events, func(e history.Event) (history.Offset, bool) {
		switch {
		case e.Echo != nil:
			return e.Echo.Sent, true
		case e.Gap != nil && e.Gap.What == "leases": // the reason why no change came back is recorded
			return e.Gap.Since, true
		}
		return 0, false
	}); hole > 0 {
		d.Add("the harness saw none of its own changes, done or failed, for %s from %s, so how late the watches were is unknown", prose.Moment(hole), prose.Moment(at))
	}
	return d
}

// silent are the words about a time in which the harness took no samples of itself: it was paused, or it was away.
func (f *Run) silent(at history.Offset, hole time.Duration) []any {
	for _, e := range f.Record.Events {
		if e.Resumed != nil && e.Resumed.Since <= at+hole && e.T >= at {
			return []any{"no recorder ran", prose.Moment(hole), prose.Moment(at), "what happened then is unknown"}
		}
	}
	return []any{"the harness took no samples of itself", prose.Moment(hole), prose.Moment(at), "how late it recorded events is unknown"}
}

// watched is when the watches began, with a list of the nodes.
func (f *Run) watched() history.Offset {
	for _, e := range f.Record.Events {
		if e.Node != nil {
			return e.T
		}
	}
	return 0
}

// holeIn finds the first time between two moments, longer than most, that no sample covers. Since returns where a sample begins.
func holeIn(
	from, to history.Offset, most time.Duration, events []history.Event, since func(history.Event) (history.Offset, bool),
) (at history.Offset, hole time.Duration) {
	type span struct{ from, to history.Offset }
	var spans []span
	for _, e := range events {
		if begin, ok := since(e); ok && begin <= e.T {
			spans = append(spans, span{begin, e.T})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	covered := from
	for _, s := range append(spans, span{to, to}) {
		if begin := min(s.from, to); begin-covered > most {
			return covered, begin - covered
		}
		covered = max(covered, s.to)
	}
	return 0, 0
}
