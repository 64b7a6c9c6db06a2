package load

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
)

// rowStore keeps the rows of an attack.
type rowStore struct {
	t testing.TB

	mu       sync.Mutex
	rows     []history.Request
	segments int // with rows that were sent
}

func newRowStore(t testing.TB) *rowStore { return &rowStore{t: t} }

// Put implements Segments.
func (s *rowStore) Put(csv []byte, rows int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.rows)
	for row, err := range history.DecodeRequests(csv) {
		if err != nil {
			return err
		}
		s.rows = append(s.rows, *row)
	}
	if got := len(s.rows) - before; got != rows {
		s.t.Errorf("a segment has %d rows and says %d", got, rows)
	}
	s.segments++
	return nil
}

// PutUnsent implements Segments.
func (s *rowStore) PutUnsent(u UnsentRows) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range u.N {
		s.rows = append(s.rows, *u.Row(i))
	}
}

// playing is an attack that a test plays.
type playing struct {
	*Attack
	rows     *rowStore
	finished chan struct{}
}

// prepare returns an attack on an in-memory server; nil: on real connections.
func prepare(t *testing.T, p Plan, server http.RoundTripper, maxRows int) *playing {
	t.Helper()
	base, rows := time.Now(), newRowStore(t)
	a, err := NewAttack(t.Context(), p, Options{
		Worker: "w", Control: "http://control/", Now: func() history.Offset { return time.Since(base) },
		MaxRows: maxRows, Segments: rows, Server: server,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &playing{Attack: a, rows: rows, finished: make(chan struct{})}
}

func (p *playing) play() {
	p.Run(p.now())
	close(p.finished)
}

func (p *playing) done() bool {
	select {
	case <-p.finished:
		return true
	default:
		return false
	}
}

// check checks the rows of a finished attack, and returns them.
func (p *playing) check(t *testing.T) []history.Request {
	t.Helper()
	loadtest.CheckRows(t, p.rows.rows, totals(p.Status()))
	return p.rows.rows
}

func totals(lanes []LaneStatus) (all []history.LoadTotals) {
	for _, l := range lanes {
		all = append(all, history.LoadTotals{Lane: l.Lane, Planned: l.Planned, Sent: l.Sent, Unsent: l.Unsent})
	}
	return all
}

// rowsOf returns all rows of a recorder.
func rowsOf(t testing.TB, r *recorder) []history.Request {
	t.Helper()
	if err := r.seal(true); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(r.segments.(*rowStore).rows)
}

// sleepy is a pacer that blocks its caller, the schedule, now and then, as throttling does.
type sleepy struct {
	vegeta.Pacer
	d *loadtest.Dice
}

func (s sleepy) Pace(elapsed time.Duration, hits uint64) (time.Duration, bool) {
	if s.d.N(100) == 0 {
		time.Sleep(s.d.UpTo(3 * time.Second))
	}
	return s.Pacer.Pace(elapsed, hits)
}
