package failures

import (
	"maps"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Numbers of a verdict by which a mutant is judged: how many requests of a lane that were sent after the first fault began failed,
// or were answered too late ("failedSinceFault.<lane>"), and why ("causeSinceFault.<lane>.<cause>"). They count only what breaks
// the promise, not what the harness's own noise explains.
const (
	SinceNumber      = "failedSinceFault."
	sinceCauseNumber = "causeSinceFault."
)

// SinceFault adds what failed on each lane after the first fault began. Call it after all requests were read.
func (l *Failures) SinceFault(v *verdict.Verdict, lanes []history.Lane) {
	for _, lane := range lanes {
		v.Measure(SinceNumber+string(lane), 0)
	}
	l.Groups.Each(func(kind attribution.FailureGroup, _ history.Offset, like attribution.SimilarFailures, a attribution.Attribution) {
		name := SinceNumber + string(kind.Lane)
		if _, judged := v.Numbers[name]; judged && kind.Since {
			v.Numbers[name] += float64(like.N)
			v.Numbers[sinceCauseNumber+string(kind.Lane)+"."+string(a.Cause)] += float64(like.N)
		}
	})
}

// CausesSince are the causes of the failures on some lanes after the first fault began.
func CausesSince(v verdict.Verdict, lanes []history.Lane) map[attribution.Cause]float64 {
	causes := make(map[attribution.Cause]float64)
	for _, lane := range lanes {
		for name, n := range v.Numbers {
			if cause, ok := strings.CutPrefix(name, sinceCauseNumber+string(lane)+"."); ok {
				causes[attribution.Cause(cause)] += n
			}
		}
	}
	return causes
}

// SaysSince says whether a verdict has these numbers. Verdicts of older versions do not.
func SaysSince(v verdict.Verdict) bool {
	for name := range v.Numbers {
		if strings.HasPrefix(name, SinceNumber) {
			return true
		}
	}
	return false
}

// FailedSince is the number of requests of a lane that were sent after the first fault began and failed for a cause, or for any
// cause.
func FailedSince(v verdict.Verdict, lane history.Lane, cause string) float64 {
	if cause == "" {
		return v.Numbers[SinceNumber+string(lane)]
	}
	return v.Numbers[sinceCauseNumber+string(lane)+"."+cause]
}

// SetCauses replaces the causes that a verdict names.
func SetCauses(v verdict.Verdict, causes map[attribution.Cause]float64) {
	maps.DeleteFunc(v.Numbers, func(name string, _ float64) bool { return strings.HasPrefix(name, attribution.CauseNumber) })
	for cause, n := range causes {
		v.Numbers[attribution.CauseNumber+string(cause)] = n
	}
}
