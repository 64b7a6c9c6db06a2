package load

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// DefaultMaxRows is how many uncollected rows a worker holds before it stops sending. A row takes about 30 bytes, so this is
// about 60 MB, and at 220 requests a second two and a half hours without the harness.
const DefaultMaxRows = 2_000_000

// recorder keeps the rows of a plan until they are collected. Rows are in the order of Done across all lanes, because Done is
// read under the lock that orders the rows.
type recorder struct {
	now     func() history.Offset
	maxRows int

	mu      sync.Mutex
	encoder *history.Encoder
	open    []byte // CSV of the open segment
	rows    int    // in it
	spare   []byte // a former segment's buffer, for reuse
	lanes   map[history.Lane]*counts
	spans   []span

	held  atomic.Int64 // uncollected rows, those in the open segment included
	shelf shelf
}

// counts are a lane's counters. The schedule counts planned; rows count the others.
type counts struct {
	planned atomic.Uint64

	sent, unsent, failed, masked uint64
	lag                          *hdrhistogram.Histogram   // from due to sent, in microseconds
	answered                     map[string]history.Offset // when each pod gave its last good answer
}

// justNow is how long ago a pod's last good answer may be for the status to name the pod: long enough for each of a lane's
// connections to have had a turn.
const justNow = time.Second

// maxLag is the largest value of a lag histogram, which starts at a microsecond.
const maxLag = time.Hour

func newRecorder(now func() history.Offset, maxRows int, lanes []Lane) *recorder {
	r := &recorder{now: now, maxRows: maxRows, encoder: history.NewEncoder(), lanes: make(map[history.Lane]*counts)}
	for _, l := range lanes {
		r.lanes[l.Lane] = &counts{lag: hdrhistogram.New(1, maxLag.Microseconds(), 3), answered: make(map[string]history.Offset)}
	}
	r.open = r.encoder.AppendHeader(nil)
	return r
}

// add records a row, and sets its Done to now.
func (r *recorder) add(row *history.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row.Done = r.now()
	r.lanes[row.Lane].count(row)
	r.open = r.encoder.Append(r.open, row)
	r.rows++
	r.held.Add(1)
}

func (c *counts) count(row *history.Request) {
	if row.Outcome == history.Unsent {
		c.unsent++
		return
	}
	c.sent++
	switch {
	case row.Outcome.Failed():
		c.failed++
	case row.Pod != "" && !row.Inferred:
		c.answered[row.Pod] = row.Done
	}
	if row.Outcome == history.Masked {
		c.masked++
	}
	_ = c.lag.RecordValue(min(row.Sent-row.Due, maxLag).Microseconds()) // bounded, so it fits
}

// full reports whether there is no room for another row.
func (r *recorder) full() bool { return r.held.Load() >= int64(r.maxRows) }

// span is a run of consecutive requests that were not sent because there was no room for their rows. Its rows are generated
// when they are collected.
type span struct {
	lane     *lane
	first, n uint64
}

// skipped records that a request was not sent for lack of room.
func (r *recorder) skipped(l *lane, k uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lanes[l.Lane.Lane].unsent++
	for i := range r.spans {
		if s := &r.spans[i]; s.lane == l && s.first+s.n == k {
			s.n++
			return
		}
	}
	r.spans = append(r.spans, span{lane: l, first: k, n: 1})
}

// seal closes the open segment. It leaves spans open while there is no room, so that they grow, unless it is the last call.
func (r *recorder) seal(last bool) error {
	r.mu.Lock()
	csv, rows := r.open, r.rows
	r.open, r.rows, r.spare = r.encoder.AppendHeader(r.spare[:0]), 0, nil
	var spans []span
	if last || !r.full() {
		spans, r.spans = r.spans, nil
	}
	done := r.now()
	r.mu.Unlock()
	if rows > 0 {
		if err := r.shelf.put(csv, rows); err != nil {
			return err
		}
	}
	for _, s := range spans {
		r.shelf.putSpan(s, done)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spare = csv
	return nil
}

// collected forgets a segment and makes room.
func (r *recorder) collected(n int) { r.held.Add(-int64(r.shelf.remove(n))) }

// status returns the status of lanes, in the plan's order.
func (r *recorder) status(lanes []Lane) []LaneStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, now := make([]LaneStatus, len(lanes)), r.now()
	for i, l := range lanes {
		c := r.lanes[l.Lane]
		all[i] = LaneStatus{
			Lane: l.Lane, Planned: c.planned.Load(),
			Sent: c.sent, Unsent: c.unsent, Failed: c.failed, Masked: c.masked,
			LagP50: lagAt(c.lag, 50), LagP99: lagAt(c.lag, 99), LagMax: time.Duration(c.lag.Max()) * time.Microsecond,
		}
		for pod, at := range c.answered {
			if now-at <= justNow {
				all[i].Answered = append(all[i].Answered, pod)
			}
		}
	}
	return all
}

func lagAt(h *hdrhistogram.Histogram, percentile float64) time.Duration {
	return time.Duration(h.ValueAtPercentile(percentile)) * time.Microsecond
}
