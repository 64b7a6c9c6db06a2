package loadtest

import (
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// RoundTrip is an in-memory server, for tests in a synctest bubble.
type RoundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f RoundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Dice is a random source that goroutines share.
type Dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

// NewDice returns a source that repeats itself for the same seed.
func NewDice(seed uint64) *Dice { return &Dice{r: rand.New(rand.NewPCG(seed, 0))} }

// N returns a number from 0 to n-1.
func (d *Dice) N(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

// UpTo returns a duration from 0 to most.
func (d *Dice) UpTo(most time.Duration) time.Duration { return time.Duration(d.N(int(most) + 1)) }

// Moody is a server that mostly answers at once, but sometimes late or never, and sometimes refuses.
func Moody(d *Dice) RoundTrip {
	return func(r *http.Request) (*http.Response, error) {
		wait := d.UpTo(10 * time.Millisecond)
		switch d.N(20) {
		case 0:
			return nil, syscall.ECONNREFUSED
		case 1:
			return nil, syscall.EMFILE
		case 2:
			wait = d.UpTo(10 * time.Second)
		}
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
			return Good(r), nil
		case <-r.Context().Done():
			return nil, os.ErrDeadlineExceeded
		}
	}
}

// Late is a server that answers correctly after a delay.
func Late(after time.Duration) RoundTrip {
	return func(r *http.Request) (*http.Response, error) {
		<-time.After(after)
		return Good(r), nil
	}
}

// Good returns the correct answer.
func Good(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{backend.HeaderPod: {"pod"}},
		Body: io.NopCloser(strings.NewReader("ok " + r.Header.Get(backend.HeaderID) + "\n")),
	}
}

// CheckRows checks that each planned request has exactly one row, in the order of Done, and that the totals agree.
func CheckRows(t *testing.T, rows []history.Request, totals []history.LoadTotals) {
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
	for _, l := range totals {
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
