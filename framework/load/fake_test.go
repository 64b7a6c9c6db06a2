package load

import (
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// roundTrip is an in-memory server, for tests in a synctest bubble.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// dice is a random source that goroutines share.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func newDice(seed uint64) *dice { return &dice{r: rand.New(rand.NewPCG(seed, 0))} }

func (d *dice) n(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

func (d *dice) upTo(most time.Duration) time.Duration { return time.Duration(d.n(int(most) + 1)) }

// moody is a server that mostly answers at once, but sometimes late or never, and sometimes refuses.
func moody(d *dice) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		wait := d.upTo(10 * time.Millisecond)
		switch d.n(20) {
		case 0:
			return nil, syscall.ECONNREFUSED
		case 1:
			return nil, syscall.EMFILE
		case 2:
			wait = d.upTo(10 * time.Second)
		}
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
			return well(r), nil
		case <-r.Context().Done():
			return nil, errAlarm{}
		}
	}
}

// late is a server that answers correctly after a delay.
func late(after time.Duration) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		time.Sleep(after)
		return well(r), nil
	}
}

// well returns the correct answer.
func well(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{headerPod: {"pod"}},
		Body: io.NopCloser(strings.NewReader("ok " + r.Header.Get(headerID) + "\n")),
	}
}

// fakeWorker returns a worker whose requests go to an in-memory server.
func fakeWorker(t *testing.T, server http.RoundTripper) *worker {
	return &worker{
		ctx: t.Context(), name: "w", instance: "first", base: time.Now(), control: "http://control/",
		maxRows: DefaultMaxRows, log: slog.New(slog.DiscardHandler),
		connect: func(Lane, *atomic.Uint64) carrier { return &connections{turns: []http.RoundTripper{server}} },
	}
}

// sleepy is a pacer that blocks its caller, the schedule, now and then, as throttling does.
type sleepy struct {
	vegeta.Pacer
	d *dice
}

func (s sleepy) Pace(elapsed time.Duration, hits uint64) (time.Duration, bool) {
	if s.d.n(100) == 0 {
		time.Sleep(s.d.upTo(3 * time.Second))
	}
	return s.Pacer.Pace(elapsed, hits)
}

// checkRows checks that each planned request has exactly one row, in the order of Done, and that the counts agree.
func checkRows(t *testing.T, rows []history.Request, lanes []LaneStatus) {
	t.Helper()
	seen := make(map[history.Lane]map[uint64]bool)
	unsent := make(map[history.Lane]uint64)
	var last history.Offset
	for _, r := range rows {
		if seen[r.Lane] == nil {
			seen[r.Lane] = make(map[uint64]bool)
		}
		if seen[r.Lane][r.Seq] {
			t.Errorf("%s request %d has two rows", r.Lane, r.Seq)
		}
		seen[r.Lane][r.Seq] = true
		if r.Outcome == history.Unsent {
			unsent[r.Lane]++
			if r.Sent != 0 || r.Err == "" {
				t.Errorf("%s request %d is unsent, with sent time %v and reason %q", r.Lane, r.Seq, r.Sent, r.Err)
			}
		}
		if r.Done < last {
			t.Errorf("%s request %d was done at %v, and comes after one of %v", r.Lane, r.Seq, r.Done, last)
		}
		last = r.Done
	}
	for _, l := range lanes {
		for k := range l.Planned {
			if !seen[l.Lane][k] {
				t.Errorf("%s request %d has no row", l.Lane, k)
			}
		}
		if n := uint64(len(seen[l.Lane])); n != l.Planned || l.Planned != l.Sent+l.Unsent || l.Unsent != unsent[l.Lane] {
			t.Errorf("%s: planned %d, sent %d, unsent %d; %d rows, of which %d unsent",
				l.Lane, l.Planned, l.Sent, l.Unsent, n, unsent[l.Lane])
		}
	}
}
