package evidence

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/prose"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// Unseen tells whether one gap hides all that was the case between two moments: who comes back from it may have come
// back long before. What is listed again after a gap comes into the record within the skew.
func (f *Run) Unseen(from, to history.Offset) bool {
	begin, end := f.Begin(), f.End()
	return slices.ContainsFunc(f.Gaps, func(e history.Event) bool {
		return e.Gap.Since < end && e.T >= begin && e.Gap.Since <= from && to <= e.T+WatchSkew
	})
}

// Blind tells whether a watch may have missed something within the skew of a moment, or told it late. What the record says of
// such a moment breaks no promise: something else may have been the case. Only gaps that are doubts of their own count.
func (f *Run) Blind(at history.Offset) bool {
	return slices.ContainsFunc(f.Gaps, f.hides(at))
}

// ToldLate tells whether what the record says of a moment may have been told late.
func (f *Run) ToldLate(at history.Offset) bool {
	hides := f.hides(at)
	return slices.ContainsFunc(f.Gaps, func(e history.Event) bool { return e.Gap.Bridged && hides(e) })
}

// hides tells of a gap whether it may hide what was the case at a moment.
func (f *Run) hides(at history.Offset) func(history.Event) bool {
	begin, end := f.Begin(), f.End()
	return func(e history.Event) bool {
		return e.Gap.Since < end && e.T >= begin && e.Gap.Since <= at+WatchSkew && at-WatchSkew <= e.T
	}
}

// Late doubts when something happened that a watch told of only at the end of a gap.
func (f *Run) Late(from history.Offset) (d verdict.Missing) {
	for _, e := range f.Gaps {
		if e.Gap.Bridged && e.Gap.Since < f.End() && e.T >= from {
			d.Add("the watch of %s was late from %s to %s: %s", e.Gap.What, prose.Moment(e.Gap.Since), prose.Moment(e.T), e.Gap.Why)
		}
	}
	return d
}

// Deaf tells whether what Kubernetes' components said at about a moment may be missing: the watch of events was blind, and
// what it missed was not listed afterwards.
func (f *Run) Deaf(at history.Offset) bool {
	return slices.ContainsFunc(f.Record.Events, func(e history.Event) bool {
		return e.Gap != nil && e.Gap.What == "events" && !e.Gap.Bridged && e.Gap.Since <= at+WatchSkew && at-WatchSkew <= e.T
	})
}
