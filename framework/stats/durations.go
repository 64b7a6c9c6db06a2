package stats

import (
	"math/bits"
	"time"
)

// The buckets of durations: 32 for each doubling, so that a quantile is at most 1/32 above what it was, and one for each
// microsecond below 32.
const (
	durationParts   = 32
	maxDuration     = time.Hour // what is longer counts as that long; the maximum is exact all the same
	durationBuckets = 28 * durationParts
)

// Durations are how long things took, such as requests to be sent or answered, counted in memory that does not grow with them.
type Durations struct {
	buckets [durationBuckets]uint64
	N       uint64
	Max     time.Duration
}

// Add counts a time. One below zero, as clocks that are compared can give, was none.
func (d *Durations) Add(took time.Duration) {
	took = max(0, took)
	d.buckets[durationBucket(took)]++
	d.N++
	d.Max = max(d.Max, took)
}

// durationBucket of a time: its microseconds' five leading bits after the first, and how many there are.
func durationBucket(took time.Duration) int {
	us := uint64(min(took, maxDuration) / time.Microsecond)
	if us < durationParts {
		return int(us)
	}
	double := bits.Len64(us) - bits.Len64(durationParts-1) - 1 // how often it was halved to be below 64
	return (double+1)*durationParts + int(us>>double) - durationParts
}

// durationBelow is the end of a bucket: all that is in it is shorter.
func durationBelow(bucket int) time.Duration {
	if bucket < durationParts {
		return time.Duration(bucket+1) * time.Microsecond
	}
	double := bucket/durationParts - 1
	return time.Duration(durationParts+bucket%durationParts+1) << double * time.Microsecond
}

// Quantile is a time that the share given took no longer than: the true one, or up to 1/32 or a microsecond more. 0 when
// nothing was counted.
func (d *Durations) Quantile(share float64) time.Duration {
	var seen uint64
	for i, n := range d.buckets {
		if seen += n; n > 0 && float64(seen) >= share*float64(d.N) {
			return min(durationBelow(i), d.Max)
		}
	}
	return d.Max
}
