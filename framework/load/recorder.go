package load

import (
	"net/http"
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
	// tooMany is called when an answer says that there are too many requests; nil: such an answer is one like others.
	tooMany func(history.Offset)

	mu      sync.Mutex
	encoder *history.Encoder
	open    []byte // CSV of the open segment
	rows    int    // in it
	spare   []byte // a former segment's buffer, for reuse
	lanes   map[history.Lane]*counts
	spans   []UnsentRows // they grow while there is no room

	held     atomic.Int64 // uncollected rows, those in the open segment included
	segments Segments
}

// Segments keeps closed parts of an attack's rows until they are collected.
type Segments interface {
	// Put keeps rows, as package history writes them. The bytes belong to the caller again when it returns.
	Put(csv []byte, rows int) error
	// PutUnsent keeps rows that need no room until they are read.
	PutUnsent(UnsentRows)
}

// counts are a lane's counters. The schedule counts planned; rows count the others.
type counts struct {
	planned atomic.Uint64

	sent, unsent, failed, masked uint64
	lag                          *hdrhistogram.Histogram   // from due to sent, in microseconds
	answered                     map[string]history.Offset // when each pod, or the address of one, gave its last good answer
}

// justNow is how long ago a pod's last good answer may be for the status to name the pod: long enough for each of a lane's
// connections to have had a turn.
const justNow = time.Second

// maxLag is the largest value of a lag histogram, which starts at a microsecond.
const maxLag = time.Hour

func newRecorder(now func() history.Offset, maxRows int, lanes []Lane, to Segments) *recorder {
	r := &recorder{now: now, maxRows: maxRows, encoder: history.NewEncoder(), lanes: make(map[history.Lane]*counts), segments: to}
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
	if row.Status == http.StatusTooManyRequests && r.tooMany != nil {
		r.tooMany(row.Done)
	}
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
	case row.Pod == "" && row.Addr != "":
		c.answered[row.Addr] = row.Done
	}
	if row.Outcome == history.Masked {
		c.masked++
	}
	_ = c.lag.RecordValue(min(row.Sent-row.Due, maxLag).Microseconds()) // bounded, so it fits
}

// full reports whether there is no room for another row.
func (r *recorder) full() bool { return r.held.Load() >= int64(r.maxRows) }

// UnsentRows are the rows of N consecutive hits of a worker that were not sent because there was no room for their rows.
type UnsentRows struct {
	First uint64 // the number of the first hit in the plan
	N     uint64
	lane  *lane
	done  history.Offset
}

// Row returns the row of the i-th of the hits, from 0 to N-1.
func (u UnsentRows) Row(i uint64) *history.Request {
	k := u.hit(i)
	return &history.Request{
		Worker: u.lane.worker, Lane: u.lane.Lane.Lane, Seq: k, Due: u.lane.due(k), Done: u.done,
		Outcome: history.Unsent, Err: unsentFull,
	}
}

// hit is the number in the plan of the i-th of the hits; hit N would be the next one.
func (u UnsentRows) hit(i uint64) uint64 { return u.lane.share.Hit(u.lane.share.Nth(u.First) + i) }

// Cut divides the rows into the first n, or fewer if there are no more, and the rest.
func (u UnsentRows) Cut(n uint64) (first, rest UnsentRows) {
	first, rest = u, u
	first.N = min(n, u.N)
	rest.First, rest.N = u.hit(first.N), u.N-first.N
	return first, rest
}

// skipped records that a request was not sent for lack of room.
func (r *recorder) skipped(l *lane, k uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lanes[l.Lane.Lane].unsent++
	for i := range r.spans {
		if s := &r.spans[i]; s.lane == l && s.hit(s.N) == k {
			s.N++
			return
		}
	}
	r.spans = append(r.spans, UnsentRows{lane: l, First: k, N: 1})
}

// seal closes the open segment. It leaves spans open while there is no room, so that they grow, unless it is the last call.
func (r *recorder) seal(last bool) error {
	r.mu.Lock()
	csv, rows := r.open, r.rows
	r.open, r.rows, r.spare = r.encoder.AppendHeader(r.spare[:0]), 0, nil
	var spans []UnsentRows
	if last || !r.full() {
		spans, r.spans = r.spans, nil
	}
	done := r.now()
	r.mu.Unlock()
	if rows > 0 {
		if err := r.segments.Put(csv, rows); err != nil {
			return err
		}
	}
	for _, s := range spans {
		s.done = done
		r.segments.PutUnsent(s)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spare = csv
	return nil
}

// LaneStatus has a lane's counts so far. Planned - Sent - Unsent requests are in flight.
type LaneStatus struct {
	Lane    history.Lane `json:"lane"`
	Planned uint64       `json:"planned"` // requests that were due
	Sent    uint64       `json:"sent"`    // and have ended
	Unsent  uint64       `json:"unsent"`
	Failed  uint64       `json:"failed"` // of Sent, masked ones included
	Masked  uint64       `json:"masked"`
	// Lag is the time from due to sent: median, 99th percentile and maximum.
	LagP50 time.Duration `json:"lagP50"`
	LagP99 time.Duration `json:"lagP99"`
	LagMax time.Duration `json:"lagMax"`
	// Answered are the pods that gave a good answer within the last second, in any order. A server that does not say which pod it is
	// stands there by its address.
	Answered []string `json:"answered,omitempty"`
}

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
