package noise

import (
	"math"
	"runtime/metrics"
	"time"
)

// The runtime's own histograms, in seconds, of how long a collection of garbage stopped everything, and of how long a
// goroutine that could run had to wait for a processor.
const (
	metricGC    = "/sched/pauses/total/gc:seconds"
	metricSched = "/sched/latencies:seconds"
)

// pauses tells what the runtime measures, from one call to the next.
type pauses struct {
	before []metrics.Sample
}

func newPauses() *pauses { return &pauses{before: readPauses()} }

func readPauses() []metrics.Sample {
	samples := []metrics.Sample{{Name: metricGC}, {Name: metricSched}}
	metrics.Read(samples)
	return samples
}

// longest is the longest of each since the last call, rounded up to the bounds of the runtime's buckets.
func (p *pauses) longest() (gc, sched time.Duration) {
	now := readPauses()
	gc, sched = longestSince(p.before[0], now[0]), longestSince(p.before[1], now[1])
	p.before = now
	return gc, sched
}

func longestSince(before, now metrics.Sample) time.Duration {
	if now.Value.Kind() != metrics.KindFloat64Histogram {
		return 0 // this runtime does not count it
	}
	old, fresh := before.Value.Float64Histogram(), now.Value.Float64Histogram()
	for i := len(fresh.Counts) - 1; i >= 0; i-- {
		if fresh.Counts[i] > old.Counts[i] {
			return bound(fresh.Buckets, i)
		}
	}
	return 0
}

// bound is the upper bound of bucket i, or its lower bound where there is no upper.
func bound(buckets []float64, i int) time.Duration {
	seconds := buckets[i+1]
	if math.IsInf(seconds, 1) {
		seconds = buckets[i]
	}
	return time.Duration(seconds * float64(time.Second))
}
