package invariant

import (
	"maps"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// The numbers of a verdict by which a mutant is judged: how many requests of a lane failed, or were answered too late, that were sent
// after the first fault began, as "failedSinceFault.<lane>", and why, as "causeSinceFault.<lane>.<cause>". Of those alone that
// break the promise: what the harness's own noise explains as well is in neither.
const (
	sinceNumber      = "failedSinceFault."
	sinceCauseNumber = "causeSinceFault."
)

// sinceFault measures what failed on each of the lanes after the first fault began. Call it when all requests were read.
func (l *failures) sinceFault(v *Verdict, lanes []history.Lane) {
	for _, lane := range lanes {
		v.measure(sinceNumber+string(lane), 0)
	}
	l.shots.each(func(kind shot, _ history.Offset, like alike, a Attribution) {
		name := sinceNumber + string(kind.lane)
		if _, judged := v.Numbers[name]; judged && kind.since {
			v.Numbers[name] += float64(like.n)
			v.Numbers[sinceCauseNumber+string(kind.lane)+"."+string(a.Cause)] += float64(like.n)
		}
	})
}

// causesSince are the causes of what failed on some lanes after the first fault began.
func (v Verdict) causesSince(lanes []history.Lane) map[Cause]float64 {
	causes := make(map[Cause]float64)
	for _, lane := range lanes {
		for name, n := range v.Numbers {
			if cause, ok := strings.CutPrefix(name, sinceCauseNumber+string(lane)+"."); ok {
				causes[Cause(cause)] += n
			}
		}
	}
	return causes
}

// saysSince tells whether a verdict says what failed after the first fault began; one of an older version does not.
func (v Verdict) saysSince() bool {
	for name := range v.Numbers {
		if strings.HasPrefix(name, sinceNumber) {
			return true
		}
	}
	return false
}

// failedSince is how many requests of a lane failed for a cause, or any, that were sent after the first fault began.
func (v Verdict) failedSince(lane history.Lane, cause string) float64 {
	if cause == "" {
		return v.Numbers[sinceNumber+string(lane)]
	}
	return v.Numbers[sinceCauseNumber+string(lane)+"."+cause]
}

// setCauses lets a verdict name these causes and no others.
func (v Verdict) setCauses(causes map[Cause]float64) {
	maps.DeleteFunc(v.Numbers, func(name string, _ float64) bool { return strings.HasPrefix(name, CauseNumber) })
	for cause, n := range causes {
		v.Numbers[CauseNumber+string(cause)] = n
	}
}
