package certify

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// difference lists the marked differences between the sides of a scenario.
func difference(before, after *certificate.Side) []certificate.Difference {
	list := []certificate.Difference{}
	add := func(what, was, is string, worse bool) {
		list = append(list, certificate.Difference{What: what, Before: was, After: is, Worse: worse})
	}
	if before.Verdict != after.Verdict {
		add("verdict", string(before.Verdict), string(after.Verdict), rank(after.Verdict) > rank(before.Verdict))
	}
	for i := range before.Promises {
		was := &before.Promises[i]
		is := findPromise(after, was)
		if is != nil && is.Verdict != was.Verdict {
			add(was.Kind, string(was.Verdict), string(is.Verdict), rank(is.Verdict) > rank(was.Verdict))
		}
	}
	if was, is := causeOf(before), causeOf(after); was != is && was != "" && is != "" {
		add("cause", was, is, false)
	}
	if was, is := before.RecoverySeconds, after.RecoverySeconds; was != nil && is != nil && certificate.Marked(*was, *is, certificate.RecoveryFactor, certificate.RecoveryFloor.Seconds()) {
		add("recovery", brief(*was), brief(*is), *is > *was)
	}
	if was, is := before.P99(), after.P99(); was > 0 && is > 0 && certificate.Marked(was, is, certificate.P99Factor, certificate.P99Floor.Seconds()) {
		add("p99", brief(was), brief(is), is > was)
	}
	if was, is := before.SettledSkew, after.SettledSkew; was != nil && is != nil && certificate.Marked(float64(*was), float64(*is), 1, certificate.SkewFloor) {
		add("skew", fmt.Sprint(*was), fmt.Sprint(*is), *is > *was)
	}
	return list
}

// rank orders verdicts: the higher, the worse.
func rank(v reports.Result) int {
	return slices.Index([]reports.Result{reports.Held, reports.Skipped, reports.NotSupported, reports.NotBegun, reports.Interrupted, reports.Unknown, reports.Violated}, v)
}

// findPromise finds a promise on another side.
func findPromise(s *certificate.Side, like *certificate.Promise) *certificate.Promise {
	for i := range s.Promises {
		if p := &s.Promises[i]; p.Kind == like.Kind && p.Promise == like.Promise {
			return p
		}
	}
	return nil
}

// causeOf is the cause of the first violated promise that has one.
func causeOf(s *certificate.Side) string {
	for i := range s.Promises {
		if p := &s.Promises[i]; p.Verdict == reports.Violated && p.Cause != "" {
			return p.Cause
		}
	}
	return ""
}

// brief is a number of seconds in words.
func brief(seconds float64) string {
	return prose.Brief(time.Duration(seconds * float64(time.Second)))
}
