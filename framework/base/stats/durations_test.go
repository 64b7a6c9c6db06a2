package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestQuantiles: of any times, a quantile is what sorting them gives, or up to 1/32 or a microsecond more, and never above the
// maximum, which is exact.
func TestQuantiles(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var l Durations
		var all []time.Duration
		for range 1 + random.IntN(500) {
			d := time.Duration(math.Exp(random.Float64() * math.Log(float64(maxDuration)))) // as many of microseconds as of minutes
			l.Add(d)
			all = append(all, d)
		}
		slices.Sort(all)
		for _, share := range []float64{0.01, 0.5, 0.9, 0.99, 1} {
			want := all[max(0, int(math.Ceil(share*float64(len(all))))-1)]
			got := l.Quantile(share)
			if got < want || got > want+max(want/durationParts, time.Microsecond) || got > all[len(all)-1] {
				t.Errorf("seed %d: the %v quantile of %d is %s, want %s", seed, share, len(all), got, want)
			}
		}
		if l.Max != all[len(all)-1] {
			t.Errorf("seed %d: the longest is %s, want %s", seed, l.Max, all[len(all)-1])
		}
	}
}

// TestBucketsOfDurations: they are in order, without a gap, and no time is outside of them.
func TestBucketsOfDurations(t *testing.T) {
	for bucket := range durationBuckets - 1 {
		if end := durationBelow(bucket); end <= maxDuration && durationBucket(end) != bucket+1 {
			t.Fatalf("bucket %d ends at %s, which is in bucket %d", bucket, end, durationBucket(end))
		}
	}
	for _, d := range []time.Duration{0, 1, time.Microsecond - 1, maxDuration, maxDuration + 1, math.MaxInt64} {
		if b := durationBucket(d); b < 0 || b >= durationBuckets {
			t.Errorf("%s is in bucket %d of %d", d, b, durationBuckets)
		}
	}
}

func TestOddDurations(t *testing.T) {
	var l Durations
	if l.Quantile(0.5) != 0 {
		t.Error("nothing was counted, and it took some time")
	}
	l.Add(-1)
	l.Add(math.MinInt64) // of a damaged record
	if l.Quantile(1) != 0 || l.N != 2 {
		t.Errorf("%s, of %d", l.Quantile(1), l.N)
	}
	l.Add(25 * time.Hour)
	if l.Max != 25*time.Hour || l.Quantile(1) < maxDuration {
		t.Errorf("a day: %s, %s", l.Max, l.Quantile(1))
	}
}
