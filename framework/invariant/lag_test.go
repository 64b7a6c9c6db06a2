package invariant

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// TestLagQuantiles: of any lags, a quantile is what sorting them gives, or up to 1/32 or a microsecond more, and never above the
// maximum, which is exact.
func TestLagQuantiles(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var l lag
		var late []time.Duration
		for range 1 + random.IntN(500) {
			d := time.Duration(math.Exp(random.Float64() * math.Log(float64(maxLag)))) // as many of microseconds as of minutes
			due := history.Offset(random.Int64N(int64(time.Hour)))
			l.add(&history.Request{Due: due, Sent: due + d})
			late = append(late, d)
		}
		slices.Sort(late)
		for _, share := range []float64{0.01, 0.5, 0.9, 0.99, 1} {
			want := late[max(0, int(math.Ceil(share*float64(len(late))))-1)]
			got := l.quantile(share)
			if got < want || got > want+max(want/lagParts, time.Microsecond) || got > late[len(late)-1] {
				t.Errorf("seed %d: the %v quantile of %d is %s, want %s", seed, share, len(late), got, want)
			}
		}
		if l.max != late[len(late)-1] {
			t.Errorf("seed %d: the latest was %s late, want %s", seed, l.max, late[len(late)-1])
		}
	}
}

// TestLagBuckets: they are in order, without a gap, and no time is outside of them.
func TestLagBuckets(t *testing.T) {
	for bucket := range lagBuckets - 1 {
		if end := lagBelow(bucket); end <= maxLag && lagBucket(end) != bucket+1 {
			t.Fatalf("bucket %d ends at %s, which is in bucket %d", bucket, end, lagBucket(end))
		}
	}
	for _, d := range []time.Duration{0, 1, time.Microsecond - 1, maxLag, maxLag + 1, math.MaxInt64} {
		if b := lagBucket(d); b < 0 || b >= lagBuckets {
			t.Errorf("%s is in bucket %d of %d", d, b, lagBuckets)
		}
	}
}

func TestLagOfWhatIsOdd(t *testing.T) {
	var l lag
	if l.quantile(0.5) != 0 {
		t.Error("nothing was sent, and it was late")
	}
	l.add(&history.Request{Due: time.Second, Sent: time.Second - 1}) // before it was due
	l.add(&history.Request{Due: math.MinInt64, Sent: math.MaxInt64}) // a damaged record
	if l.quantile(1) != 0 || l.sent != 2 {
		t.Errorf("%s late, of %d", l.quantile(1), l.sent)
	}
	l.add(&history.Request{Sent: 25 * time.Hour})
	if l.max != 25*time.Hour || l.quantile(1) < maxLag {
		t.Errorf("a day late: %s, %s", l.max, l.quantile(1))
	}
}
