package page

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/reports"
)

// chart is the rate of one lane with its failures below, and its latency. Paths are drawn in a box of Columns by 100 units, which is
// stretched over X and W of the plot. A bucket is one unit wide, so that paths are short.
type chart struct {
	Lane, Note              string
	NameY                   int
	X, W                    string
	Columns                 int
	RateY, FailureY         int
	OK, Sent, Due, Failures string // paths; Sent has the failures on top of OK, Due has the unsent on top of that
	RateTop                 string // label of the peak
	LatencyY                int
	Max, P99, P50           string // paths
	Decades                 []gridline
	HasFailures, HasLatency bool
	HasUnsent               bool
}

type gridline struct {
	Y     int
	Label string
}

const column = 100 // height of a path's box

func charts(at scale, s *reports.Scenario, y int) ([]chart, int) {
	var list []chart
	for i := range s.Lanes {
		l := &s.Lanes[i]
		if len(l.Buckets) == 0 {
			continue
		}
		var c chart
		c, y = newChart(at, l, s.BucketWidth, y)
		list = append(list, c)
	}
	return list, y
}

func newChart(at scale, l *reports.Lane, width time.Duration, y int) (chart, int) {
	whole := at.band(at.from, at.from+time.Duration(len(l.Buckets))*width, "", "")
	c := chart{Lane: string(l.Name), Note: laneNote(l), NameY: y, Columns: len(l.Buckets)}
	c.X, c.W = whole.X, overhang(at, len(l.Buckets), width)
	c.RateY = y + chartGap
	y = c.RateY + rateHeight
	peak := c.rate(l, width)
	if c.HasFailures = l.Failed > 0; c.HasFailures {
		c.FailureY = y + 1
		y = c.FailureY + failureHeight
		c.failures(l.Buckets, peak)
	}
	if c.HasLatency = l.OK > 0; c.HasLatency {
		c.LatencyY = y + 8
		y = c.LatencyY + latencyHeight
		c.latency(l.Buckets)
	}
	return c, y + 4
}

// overhang is the width of all buckets. The last one may end beyond the axis: the plot cuts off what is over 100 %.
func overhang(at scale, buckets int, width time.Duration) string {
	return pct(float64(buckets) * float64(width) / float64(at.to-at.from) * 100)
}

func laneNote(l *reports.Lane) string {
	note := fmt.Sprintf("%s requests", prose.Thousands(l.Sent()))
	if l.Failed > 0 {
		note += fmt.Sprintf(", %s failed", prose.Thousands(l.Failed))
	} else {
		note += ", none failed"
	}
	if l.Unsent > 0 {
		note += fmt.Sprintf(", %s never sent", prose.Thousands(l.Unsent))
	}
	return note
}

// rate draws the stacked steps and returns the peak, in requests a bucket.
func (c *chart) rate(l *reports.Lane, width time.Duration) uint32 {
	var peak uint32 = 1
	for _, b := range l.Buckets {
		peak = max(peak, b.OK+b.Failed+b.Unsent)
	}
	share := func(n uint32) int { return column - int(math.Round(float64(n)/float64(peak)*column)) }
	c.OK = steps(l.Buckets, func(b reports.Bucket) int { return share(b.OK) })
	c.Sent = steps(l.Buckets, func(b reports.Bucket) int { return share(b.OK + b.Failed) })
	if c.HasUnsent = l.Unsent > 0; c.HasUnsent {
		c.Due = steps(l.Buckets, func(b reports.Bucket) int { return share(b.OK + b.Failed + b.Unsent) })
	}
	c.RateTop = prose.ThreeDigits(float64(peak)/width.Seconds()) + "/s"
	return peak
}

// steps draws an area whose upper edge is at y of each bucket. Equal neighbours are one line, which keeps the paths of even load short.
func steps(buckets []reports.Bucket, y func(reports.Bucket) int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M0 %d", column)
	last, run := column, 0
	for _, bucket := range buckets {
		if to := y(bucket); to != last {
			flat(&b, run)
			fmt.Fprintf(&b, "v%d", to-last)
			last, run = to, 0
		}
		run++
	}
	flat(&b, run)
	fmt.Fprintf(&b, "V%dz", column)
	return b.String()
}

func flat(b *strings.Builder, run int) {
	if run > 0 {
		fmt.Fprintf(b, "h%d", run)
	}
}

// failures are drawn downwards from the baseline. The smallest bar has a third of the height, so that one failed request is visible.
func (c *chart) failures(buckets []reports.Bucket, peak uint32) {
	const least = column / 3
	var b strings.Builder
	for i, bucket := range buckets {
		if bucket.Failed > 0 {
			h := least + int(math.Round(float64(bucket.Failed)/float64(peak)*(column-least)))
			fmt.Fprintf(&b, "M%d 0v%dh1v-%dz", i, h, h)
		}
	}
	c.Failures = b.String()
}

// latency is drawn on a logarithmic scale of whole decades, because a pause takes a thousand times as long as a usual response.
func (c *chart) latency(buckets []reports.Bucket) {
	low, high := math.Inf(1), 0.0
	for _, b := range buckets {
		if b.OK > 0 {
			low, high = min(low, b.P50.Seconds()), max(high, b.Max.Seconds())
		}
	}
	const whole = 1e-9 // what Log10 of a power of ten may be off by
	bottom, top := math.Floor(math.Log10(low)+whole), math.Ceil(math.Log10(high)-whole)
	top = max(top, bottom+1)
	y := func(d time.Duration) int {
		share := (math.Log10(d.Seconds()) - bottom) / (top - bottom)
		return column - int(math.Round(min(max(share, 0), 1)*column))
	}
	c.Max = line(buckets, func(b reports.Bucket) int { return y(b.Max) })
	c.P99 = line(buckets, func(b reports.Bucket) int { return y(b.P99) })
	c.P50 = line(buckets, func(b reports.Bucket) int { return y(b.P50) })
	for decade := bottom; decade <= top; decade++ {
		d := time.Duration(math.Round(math.Pow(10, decade) * float64(time.Second)))
		c.Decades = append(c.Decades, gridline{
			Y:     c.LatencyY + latencyHeight - int(math.Round((decade-bottom)/(top-bottom)*latencyHeight)),
			Label: prose.Brief(d),
		})
	}
}

// line draws steps, with a gap where no request succeeded.
func line(buckets []reports.Bucket, y func(reports.Bucket) int) string {
	var b strings.Builder
	last, run, pen := 0, 0, false
	for i, bucket := range buckets {
		if bucket.OK == 0 {
			flat(&b, run)
			run, pen = 0, false
			continue
		}
		switch to := y(bucket); {
		case !pen:
			fmt.Fprintf(&b, "M%d %d", i, to)
			last, pen = to, true
		case to != last:
			flat(&b, run)
			fmt.Fprintf(&b, "v%d", to-last)
			last, run = to, 0
		}
		run++
	}
	flat(&b, run)
	return b.String()
}

// failing are the times in which requests to the system under test failed. Times that nearly touch are one.
func failing(at scale, s *reports.Scenario) []band {
	n := 0
	for i := range s.Lanes {
		n = max(n, len(s.Lanes[i].Buckets))
	}
	const near = 3 // buckets
	var bands []band
	begin, last := -1, -1
	flush := func() {
		if begin >= 0 {
			from := at.from + time.Duration(begin)*s.BucketWidth
			bands = append(bands, at.band(from, at.from+time.Duration(last+1)*s.BucketWidth, "failing", ""))
		}
	}
	for i := range n {
		if !failsAt(s.Lanes, i) {
			continue
		}
		if last < 0 || i-last > near {
			flush()
			begin = i
		}
		last = i
	}
	flush()
	return bands
}

func failsAt(lanes []reports.Lane, bucket int) bool {
	for i := range lanes {
		l := &lanes[i]
		if l.Name != history.LaneControl && bucket < len(l.Buckets) && l.Buckets[bucket].Failed > 0 {
			return true
		}
	}
	return false
}
