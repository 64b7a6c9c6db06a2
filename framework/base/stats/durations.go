package stats

import (
	"math/bits"
	"time"
)

// The buckets of durations: 32 for each doubling, so that a quantile is at most 1/32 too high, and one for each microsecond below
// 32.
const (
	durationParts   = 32
	maxDuration     = time.Hour // longer durations count as that long; the maximum is exact
	durationBuckets = 28 * durationParts
)

// Durations is a histogram of durations, for example of the time that requests take. Its memory does not grow with their number.
type Durations struct {
	buckets [durationBuckets]uint64
	N       uint64
	Max     time.Duration
}

// Add counts a duration. A negative one, which the comparison of two clocks can give, counts as zero.
func (d *Durations) Add(took time.Duration) {
	took = max(0, took)
	d.buckets[durationBucket(took)]++
	d.N++
	d.Max = max(d.Max, took)
}

// durationBucket is the bucket of a duration: the five bits of its microseconds after the leading one, and their position.
func durationBucket(took time.Duration) int {
	us := uint64(min(took, maxDuration) / time.Microsecond)
	if us < durationParts {
		return int(us)
	}
	double := bits.Len64(us) - bits.Len64(durationParts-1) - 1 // number of halvings down to below 64
	return (double+1)*durationParts + int(us>>double) - durationParts
}

// durationBelow is the end of a bucket: its durations are shorter.
func durationBelow(bucket int) time.Duration {
	if bucket < durationParts {
		return time.Duration(bucket+1) * time.Microsecond
	}
	double := bucket/durationParts - 1
	return time.Duration(durationParts+bucket%durationParts+1) << double * time.Microsecond
}

// Quantile is the duration that the given share did not exceed, exact to 1/32 or a microsecond, never too low. It is 0 for an empty
// histogram.
func (d *Durations) Quantile(share float64) time.Duration {
	var seen uint64
	for i, n := range d.buckets {
		if seen += n; n > 0 && float64(seen) >= share*float64(d.N) {
			return min(durationBelow(i), d.Max)
		}
	}
	return d.Max
}
