package reports

import (
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
)

// maxBuckets bounds the buckets of a lane, and so the memory and the size of a report for a run of any length.
const maxBuckets = 600

// The range and precision of the histograms. A request that takes longer than an hour counts as an hour.
const (
	longest      = time.Hour
	totalDigits  = 3 // 0.1 % for a lane's quantiles
	bucketDigits = 1 // 7 % for a bucket's: 600 of them a lane, at 5 KB each
)

// bucketWidth is the smallest round width with which 90 % of maxBuckets cover the axis. The rest is for requests that were due after the
// last event, as in the record of a killed harness.
func bucketWidth(shown time.Duration) time.Duration {
	const spare = maxBuckets / 10
	for unit := 100 * time.Millisecond; ; unit *= 10 {
		for _, width := range []time.Duration{unit, 2 * unit, 5 * unit} {
			if shown <= width*(maxBuckets-spare) {
				return width
			}
		}
	}
}

// series adds up the requests of a scenario in one pass and constant memory.
type series struct {
	from    history.Offset
	width   time.Duration
	lanes   map[history.Lane]*laneSeries
	last    history.Offset // due time of the last request on the axis
	offAxis uint64
	faults  []inFlight
	causes  *attribution.FailureCauses
}

// inFlight counts the requests that were in flight during a fault, from its first moment to its last.
type inFlight struct {
	from, to history.Offset
	requests *uint64
}

type laneSeries struct {
	Lane
	latency, service, lag *hdrhistogram.Histogram

	buckets []bucketSeries
}

type bucketSeries struct {
	Bucket
	latency *hdrhistogram.Histogram
}

func newSeries(from history.Offset, width time.Duration, plan *history.Plan) *series {
	s := &series{from: from, width: width, lanes: make(map[history.Lane]*laneSeries)}
	if plan != nil {
		for _, p := range plan.Lanes {
			l := s.lane(p.Lane)
			l.Target, l.RatePerSecond = p.Target, p.RatePerSecond
		}
	}
	return s
}

// read adds all requests, and returns the error that ended the sequence early.
func (s *series) read(requests history.Requests) error {
	if requests == nil {
		return nil
	}
	for r, err := range requests() {
		if err != nil {
			return err
		}
		s.lane(r.Lane).add(r)
		s.place(r)
		for _, f := range s.faults {
			if r.Lane != history.LaneControl && r.Outcome != history.Unsent && r.Done >= f.from && r.Sent <= f.to {
				*f.requests++
			}
		}
		s.causes.Take(r)
	}
	return nil
}

func (s *series) lane(name history.Lane) *laneSeries {
	l := s.lanes[name]
	if l == nil {
		l = &laneSeries{
			Lane:    Lane{Name: name, Outcomes: make(map[history.Outcome]uint64)},
			latency: histogram(totalDigits), service: histogram(totalDigits), lag: histogram(totalDigits),
		}
		s.lanes[name] = l
	}
	return l
}

func histogram(digits int) *hdrhistogram.Histogram {
	return hdrhistogram.New(1, longest.Microseconds(), digits)
}

// record adds a duration in microseconds. Requests over a network do not differ by less.
func record(h *hdrhistogram.Histogram, d time.Duration) {
	// In range by construction: RecordValue has no other error.
	_ = h.RecordValue(min(max(d, time.Microsecond), longest).Microseconds())
}

func (l *laneSeries) add(r *history.Request) {
	if r.Outcome != history.Unsent {
		l.LatestSend = max(l.LatestSend, Seconds(r.Sent-r.Due))
		record(l.lag, r.Sent-r.Due)
	}
	l.GatewayTries += uint64(max(0, r.GatewayTries))
	switch r.Outcome {
	case history.OK:
		l.OK++
		if r.GatewayTries > 1 {
			l.MaskedByGateway++
		}
		record(l.latency, r.Done-r.Due)
		record(l.service, r.Done-r.Sent)
		l.Latency.Max, l.Service.Max = max(l.Latency.Max, Seconds(r.Done-r.Due)), max(l.Service.Max, Seconds(r.Done-r.Sent))
	case history.Unsent:
		l.Unsent++
	default:
		if due := Seconds(r.Due); l.Failed == 0 || due < l.FirstFailure {
			l.FirstFailure = due
		}
		l.Failed++
		l.Outcomes[r.Outcome]++
		l.LastFailure = max(l.LastFailure, Seconds(r.Done))
	}
}

// place adds a request to the bucket in which it was due.
func (s *series) place(r *history.Request) {
	i := int((r.Due - s.from) / s.width)
	if r.Due < s.from || i >= maxBuckets {
		s.offAxis++
		return
	}
	s.last = max(s.last, r.Due)
	l := s.lanes[r.Lane]
	if missing := i + 1 - len(l.buckets); missing > 0 {
		l.buckets = append(l.buckets, make([]bucketSeries, missing)...)
	}
	l.buckets[i].add(r)
}

func (b *bucketSeries) add(r *history.Request) {
	switch r.Outcome {
	case history.OK:
		b.OK++
		if b.latency == nil {
			b.latency = histogram(bucketDigits)
		}
		record(b.latency, r.Done-r.Due)
		b.Max = max(b.Max, r.Done-r.Due)
	case history.Unsent:
		b.Unsent++
	default:
		b.Failed++
	}
}

// done returns the lanes in the order of the plan, other lanes after them by name, and the control lane last, because it only measures
// the harness.
func (s *series) done(plan *history.Plan) []Lane {
	var order []history.Lane
	if plan != nil {
		for _, p := range plan.Lanes {
			order = append(order, p.Lane)
		}
	}
	rank := func(l Lane) int {
		if i := slices.Index(order, l.Name); i >= 0 && l.Name != history.LaneControl {
			return i
		}
		if l.Name == history.LaneControl {
			return len(order) + 1
		}
		return len(order)
	}
	var lanes []Lane
	for _, l := range s.lanes {
		lanes = append(lanes, l.finish())
	}
	slices.SortFunc(lanes, func(a, b Lane) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return namedFirst(string(a.Name), string(b.Name))
	})
	return lanes
}

func (l *laneSeries) finish() Lane {
	l.Latency = quantiles(l.latency, l.Latency.Max)
	l.Service = quantiles(l.service, l.Service.Max)
	l.Lag = quantiles(l.lag, l.LatestSend)
	for _, b := range l.buckets {
		if b.latency != nil {
			q := quantiles(b.latency, Seconds(b.Max))
			b.P50, b.P99 = time.Duration(q.P50), time.Duration(q.P99)
		}
		l.Buckets = append(l.Buckets, b.Bucket)
	}
	return l.Lane
}

// quantiles are at most the exact maximum. A histogram rounds up.
func quantiles(h *hdrhistogram.Histogram, exact Seconds) Quantiles {
	if h.TotalCount() == 0 {
		return Quantiles{}
	}
	at := func(percent float64) Seconds {
		return min(Seconds(h.ValueAtQuantile(percent))*Seconds(time.Microsecond), exact)
	}
	return Quantiles{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: exact}
}
