package invariant

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// unseen tells whether one gap hides all that was the case between two moments: who comes back from it may have come
// back long before. What is listed again after a gap comes into the record within the skew.
func (f *facts) unseen(from, to history.Offset) bool {
	begin, end := f.begin(), f.end()
	return slices.ContainsFunc(f.gaps, func(e history.Event) bool {
		return e.Gap.Since < end && e.T >= begin && e.Gap.Since <= from && to <= e.T+watchSkew
	})
}

// blind tells whether a watch may have missed something within the skew of a moment, or told it late. What the record says of
// such a moment breaks no promise: something else may have been the case. Only gaps that are doubts of their own count.
func (f *facts) blind(at history.Offset) bool {
	return slices.ContainsFunc(f.gaps, f.hides(at))
}

// toldLate tells whether what the record says of a moment may have been told late.
func (f *facts) toldLate(at history.Offset) bool {
	hides := f.hides(at)
	return slices.ContainsFunc(f.gaps, func(e history.Event) bool { return e.Gap.Bridged && hides(e) })
}

// hides tells of a gap whether it may hide what was the case at a moment.
func (f *facts) hides(at history.Offset) func(history.Event) bool {
	begin, end := f.begin(), f.end()
	return func(e history.Event) bool {
		return e.Gap.Since < end && e.T >= begin && e.Gap.Since <= at+watchSkew && at-watchSkew <= e.T
	}
}

// late doubts when something happened that a watch told of only at the end of a gap.
func (f *facts) late(from history.Offset) (d doubts) {
	for _, e := range f.gaps {
		if e.Gap.Bridged && e.Gap.Since < f.end() && e.T >= from {
			d.add("the watch of %s was late from %s to %s: %s", e.Gap.What, moment(e.Gap.Since), moment(e.T), e.Gap.Why)
		}
	}
	return d
}

// deaf tells whether what Kubernetes' components said at about a moment may be missing: the watch of events was blind, and
// what it missed was not listed afterwards.
func (f *facts) deaf(at history.Offset) bool {
	return slices.ContainsFunc(f.run.Events, func(e history.Event) bool {
		return e.Gap != nil && e.Gap.What == "events" && !e.Gap.Bridged && e.Gap.Since <= at+watchSkew && at-watchSkew <= e.T
	})
}
