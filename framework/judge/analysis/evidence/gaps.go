package evidence

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Unseen says whether one gap hides everything between two moments: a node that is back at its end may have been back long before.
// Objects that are listed again after a gap are recorded within the skew.
func (f *Run) Unseen(from, to history.Offset) bool {
	begin, end := f.Begin(), f.End()
	return slices.ContainsFunc(f.Gaps, func(e history.Event) bool {
		return e.Gap.Since < end && e.T >= begin && e.Gap.Since <= from && to <= e.T+WatchSkew
	})
}

// Blind says whether a watch may have missed a change within the skew of a moment, or reported it late. The state at such a moment
// breaks no promise, because it may not have been the real state. Only gaps that are missing evidence by themselves count.
func (f *Run) Blind(at history.Offset) bool {
	return slices.ContainsFunc(f.Gaps, f.hides(at))
}

// ReportedLate says whether a watch may have reported the state at a moment late.
func (f *Run) ReportedLate(at history.Offset) bool {
	hides := f.hides(at)
	return slices.ContainsFunc(f.Gaps, func(e history.Event) bool { return e.Gap.Bridged && hides(e) })
}

// hides says whether a gap may hide the state at a moment.
func (f *Run) hides(at history.Offset) func(history.Event) bool {
	begin, end := f.Begin(), f.End()
	return func(e history.Event) bool {
		return e.Gap.Since < end && e.T >= begin && e.Gap.Since <= at+WatchSkew && at-WatchSkew <= e.T
	}
}

// Late reports the gaps after which a watch delivered what it had missed: when those changes happened is unknown.
func (f *Run) Late(from history.Offset) (d verdict.Missing) {
	for _, e := range f.Gaps {
		if e.Gap.Bridged && e.Gap.Since < f.End() && e.T >= from {
			d.Add("the watch of %s delivered changes late from %s to %s: %s", e.Gap.What, prose.Moment(e.Gap.Since), prose.Moment(e.T), e.Gap.Why)
		}
	}
	return d
}

// EventsMissing says whether Kubernetes Events of about a moment may be missing: the watch of Events had a gap, and they were not listed
// afterwards.
func (f *Run) EventsMissing(at history.Offset) bool {
	return slices.ContainsFunc(f.Record.Events, func(e history.Event) bool {
		return e.Gap != nil && e.Gap.What == "events" && !e.Gap.Bridged && e.Gap.Since <= at+WatchSkew && at-WatchSkew <= e.T
	})
}
