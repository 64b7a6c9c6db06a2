package certificate

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/reports"
)

// difference lays the sides of a scenario beside each other.
func difference(before, after *Side) []Difference {
	list := []Difference{}
	add := func(what, was, is string, worse bool) {
		list = append(list, Difference{What: what, Before: was, After: is, Worse: worse})
	}
	if before.Verdict != after.Verdict {
		add("verdict", string(before.Verdict), string(after.Verdict), rank(after.Verdict) > rank(before.Verdict))
	}
	for i := range before.Promises {
		was := &before.Promises[i]
		is := after.promise(was)
		if is != nil && is.Verdict != was.Verdict {
			add(was.Kind, string(was.Verdict), string(is.Verdict), rank(is.Verdict) > rank(was.Verdict))
		}
	}
	if was, is := causeOf(before), causeOf(after); was != is && was != "" && is != "" {
		add("cause", was, is, false)
	}
	if was, is := before.RecoverySeconds, after.RecoverySeconds; was != nil && is != nil && Marked(*was, *is, RecoveryFactor, RecoveryFloor.Seconds()) {
		add("recovery", seconds(*was), seconds(*is), *is > *was)
	}
	if was, is := before.p99(), after.p99(); was > 0 && is > 0 && Marked(was, is, P99Factor, P99Floor.Seconds()) {
		add("p99", seconds(was), seconds(is), is > was)
	}
	if was, is := before.SettledSkew, after.SettledSkew; was != nil && is != nil && Marked(float64(*was), float64(*is), 1, SkewFloor) {
		add("skew", fmt.Sprint(*was), fmt.Sprint(*is), *is > *was)
	}
	return list
}

// rank of a verdict: the higher, the worse.
func rank(v reports.Result) int {
	return slices.Index([]reports.Result{reports.Held, reports.Skipped, reports.NotSupported, reports.NotBegun, reports.Interrupted, reports.Unknown, reports.Violated}, v)
}

// promise finds the same one on another side.
func (s *Side) promise(like *Promise) *Promise {
	for i := range s.Promises {
		if p := &s.Promises[i]; p.Kind == like.Kind && p.Promise == like.Promise {
			return p
		}
	}
	return nil
}

// causeOf the first promise that was Violated and names one.
func causeOf(s *Side) string {
	for i := range s.Promises {
		if p := &s.Promises[i]; p.Verdict == reports.Violated && p.Cause != "" {
			return p.Cause
		}
	}
	return ""
}
