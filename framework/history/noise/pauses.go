package noise

import (
	"math"
	"runtime/metrics"
	"time"
)

// Histograms of the Go runtime, in seconds: how long garbage collection stopped the world, and how long runnable goroutines
// waited for a processor.
const (
	metricGC    = "/sched/pauses/total/gc:seconds"
	metricSched = "/sched/latencies:seconds"
)

// pauses reads the runtime's histograms and compares each reading with the previous one.
type pauses struct {
	before []metrics.Sample
}

func newPauses() *pauses { return &pauses{before: readPauses()} }

func readPauses() []metrics.Sample {
	samples := []metrics.Sample{{Name: metricGC}, {Name: metricSched}}
	metrics.Read(samples)
	return samples
}

// longest is the longest pause of each kind since the last call, rounded up to the bounds of the runtime's buckets.
func (p *pauses) longest() (gc, sched time.Duration) {
	now := readPauses()
	gc, sched = longestSince(p.before[0], now[0]), longestSince(p.before[1], now[1])
	p.before = now
	return gc, sched
}

func longestSince(before, now metrics.Sample) time.Duration {
	if now.Value.Kind() != metrics.KindFloat64Histogram {
		return 0 // this Go version does not have the metric
	}
	old, fresh := before.Value.Float64Histogram(), now.Value.Float64Histogram()
	for i := len(fresh.Counts) - 1; i >= 0; i-- {
		if fresh.Counts[i] > old.Counts[i] {
			return bound(fresh.Buckets, i)
		}
	}
	return 0
}

// bound is the upper bound of bucket i, or the lower bound if the upper bound is infinite.
func bound(buckets []float64, i int) time.Duration {
	seconds := buckets[i+1]
	if math.IsInf(seconds, 1) {
		seconds = buckets[i]
	}
	return time.Duration(seconds * float64(time.Second))
}
