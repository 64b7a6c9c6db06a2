package certificate

import (
	"fmt"
	"slices"
	"time"
)

// What is marked as a difference in a number: more than so many times as much, and more than so much. Numbers alone keep
// nothing from being certified; verdicts do, and promises have limits of their own.
//
// They come from stored good runs of the same scenarios, of one version, on two cores that had other work: of 60 pairs none
// differed by as much in recovery, and of 270 pairs 16 did in p99. With a floor of 20 ms for p99 it would have been 36.
const (
	RecoveryFactor = 2
	RecoveryFloor  = 5 * time.Second
	P99Factor      = 3
	P99Floor       = 200 * time.Millisecond
	// SkewFloor: a constraint with maxSkew 1 leaves 0 or 1 to chance.
	SkewFloor = 1
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

// Marked tells whether one number is more than factor times the other, and more than floor away from it.
func Marked(was, is, factor, floor float64) bool {
	low, high := min(was, is), max(was, is)
	return high > low*factor && high-low > floor
}

// rank of a verdict: the higher, the worse.
func rank(v Verdict) int {
	return slices.Index([]Verdict{Held, VerdictSkipped, VerdictUnsupported, VerdictNotBegun, VerdictInterrupted, Unknown, Violated}, v)
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

// p99 is the worst of the lanes' but control, in seconds.
func (s *Side) p99() (worst float64) {
	for i := range s.Lanes {
		if s.Lanes[i].Name != "control" {
			worst = max(worst, s.Lanes[i].P99Seconds)
		}
	}
	return worst
}

// causeOf the first promise that was Violated and names one.
func causeOf(s *Side) string {
	for i := range s.Promises {
		if p := &s.Promises[i]; p.Verdict == Violated && p.Cause != "" {
			return p.Cause
		}
	}
	return ""
}
