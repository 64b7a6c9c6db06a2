package invariant

import (
	"math/bits"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// The buckets of a lag: 32 for each doubling, so that a quantile is at most 1/32 above what it was, and one for each
// microsecond below 32.
const (
	lagParts   = 32
	maxLag     = time.Hour // what is later counts as that late; the maximum is exact all the same
	lagBuckets = 28 * lagParts
)

// lag is how late the requests of a lane were sent: the time from when they were due. It is counted in memory that does not
// grow with them.
type lag struct {
	buckets [lagBuckets]uint64
	sent    uint64
	max     time.Duration
}

// add counts a request that was sent. One that was sent before it was due, as far as clocks can tell, was not late.
func (l *lag) add(r *history.Request) {
	late := max(0, r.Sent-r.Due)
	l.buckets[lagBucket(late)]++
	l.sent++
	l.max = max(l.max, late)
}

// lagBucket of a time: its microseconds' five leading bits after the first, and how many there are.
func lagBucket(late time.Duration) int {
	us := uint64(min(late, maxLag) / time.Microsecond)
	if us < lagParts {
		return int(us)
	}
	double := bits.Len64(us) - bits.Len64(lagParts-1) - 1 // how often it was halved to be below 64
	return (double+1)*lagParts + int(us>>double) - lagParts
}

// lagBelow is the end of a bucket: all that is in it is shorter.
func lagBelow(bucket int) time.Duration {
	if bucket < lagParts {
		return time.Duration(bucket+1) * time.Microsecond
	}
	double := bucket/lagParts - 1
	return time.Duration(lagParts+bucket%lagParts+1) << double * time.Microsecond
}

// quantile is a lag that the share given was not later than: the true one, or up to 1/32 or a microsecond more. 0 when nothing
// was sent.
func (l *lag) quantile(share float64) time.Duration {
	var seen uint64
	for i, n := range l.buckets {
		if seen += n; n > 0 && float64(seen) >= share*float64(l.sent) {
			return min(lagBelow(i), l.max)
		}
	}
	return l.max
}

// numbers tells how late the requests of a lane were sent.
func (l *lag) numbers(v *Verdict, lane history.Lane) {
	if l.sent == 0 {
		return
	}
	v.measure("lagP50Seconds."+string(lane), l.quantile(0.5).Seconds())
	v.measure("lagP99Seconds."+string(lane), l.quantile(0.99).Seconds())
	v.measure("lagMaxSeconds."+string(lane), l.max.Seconds())
}
