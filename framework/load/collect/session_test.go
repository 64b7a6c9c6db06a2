package collect

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// network is a session's way to a worker, like an API server that may be away.
type network struct {
	mu     sync.Mutex // guards what tests change while a session runs
	worker *worker
	d      *loadtest.Dice
	delay  time.Duration // one way
	// lost is how many of 100 calls are lost before they reach the worker, and how many of 100 answers are lost: the worker has
	// then done what it was asked for, but the session does not know.
	lost int
	// gone returns an answer that replaces the worker's at a moment; nil: the worker answers.
	gone func(now time.Duration) *http.Response
	base time.Time
	// before is called before each call reaches the worker; nil: nothing is.
	before func()
}

func (n *network) client() *http.Client { return &http.Client{Transport: loadtest.RoundTrip(n.carry)} }

// startOne starts the load of the only worker.
func startOne(ctx context.Context, n *network, plan load.Plan, sink Sink) (*Session, error) {
	return Start(ctx, n.client(), []Worker{{URL: "http://api" + proxyPath + "/"}}, plan, sink)
}

// proxyPath is the API server's proxy path of a pod.
const proxyPath = "/api/v1/namespaces/load/pods/load-0:8080/proxy"

var errAway = errors.New("connection refused")

func (n *network) carry(r *http.Request) (*http.Response, error) {
	time.Sleep(n.delay)
	n.mu.Lock()
	worker, gone := n.worker, n.gone
	n.mu.Unlock()
	if gone != nil {
		if answer := gone(time.Since(n.base)); answer != nil {
			return answer, nil
		}
	}
	if n.d.N(100) < n.lost {
		return nil, errAway
	}
	if n.before != nil {
		n.before()
	}
	rw := httptest.NewRecorder()
	http.StripPrefix(proxyPath, worker.api()).ServeHTTP(rw, r)
	if r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	if n.d.N(100) < n.lost {
		return nil, errAway
	}
	time.Sleep(n.delay)
	return rw.Result(), nil
}

func textAnswer(status int, text string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}
}

// away is an API server that is unavailable between two moments.
func away(from, to time.Duration) func(time.Duration) *http.Response {
	return func(now time.Duration) *http.Response {
		if now < from || now >= to {
			return nil
		}
		return textAnswer(http.StatusServiceUnavailable, "the server is currently unable to handle the request")
	}
}

// fakeWorker returns a worker whose requests go to an in-memory server.
func fakeWorker(t *testing.T, server http.RoundTripper) *worker {
	return &worker{
		ctx: t.Context(), name: "w", instance: "first", clock: clockFrom(time.Now()), control: "http://control/",
		log: slog.New(slog.DiscardHandler), server: server, collected: make(chan struct{}),
	}
}

// newRecord returns a record to collect into, and a function that closes and reads it.
func newRecord(t *testing.T) (*history.Writer, func() history.Run) {
	t.Helper()
	dir := t.TempDir()
	sink, err := history.Create(dir, history.Header{Scenario: "test/load"})
	if err != nil {
		t.Fatal(err)
	}
	return sink, func() history.Run {
		if err := sink.Close(); err != nil {
			t.Error(err)
		}
		run, err := history.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if run.Incomplete != "" {
			t.Errorf("the record is incomplete: %s", run.Incomplete)
		}
		return run
	}
}

// recorded is what a record contains of the load.
type recorded struct {
	rows    []history.Request
	totals  []history.LoadTotals
	clocks  []history.Clock
	shares  []history.LoadShare
	trouble []string
}

func read(t *testing.T, run history.Run) recorded {
	t.Helper()
	var all recorded
	for row, err := range run.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		all.rows = append(all.rows, *row)
	}
	for _, e := range run.Events {
		switch {
		case e.Load != nil:
			all.totals = append(all.totals, *e.Load)
		case e.Share != nil:
			all.shares = append(all.shares, *e.Share)
		case e.Clock != nil:
			all.clocks = append(all.clocks, *e.Clock)
		case e.Trouble != nil:
			all.trouble = append(all.trouble, e.Trouble.What)
		}
	}
	return all
}

func twoLanes(d time.Duration) load.Plan {
	return load.Plan{ID: "p/1", Duration: d, Lanes: []load.Lane{
		{Lane: history.LaneFresh, Target: "http://target/", Rate: 20},
		{Lane: history.LaneControl, Rate: 5},
	}}
}

// Each request is in the record exactly once, however and for however long the network misbehaves.
func TestNothingIsLostOrDoubled(t *testing.T) {
	tests := []struct {
		name string
		lost int
		gone func(time.Duration) *http.Response
	}{
		{"a good network", 0, nil},
		{"calls and answers get lost", 20, nil},
		{"away for a minute", 0, away(10*time.Second, 70*time.Second)},
		{"away while the load is stopped", 10, away(85*time.Second, 150*time.Second)},
		{"pods are briefly not found", 0, func(now time.Duration) *http.Response {
			if now%(10*time.Second) > 300*time.Millisecond {
				return nil
			}
			return textAnswer(http.StatusNotFound, `pods "load-0" not found`)
		}},
	}
	for seed, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := loadtest.NewDice(uint64(seed))
				w := fakeWorker(t, loadtest.Moody(d))
				n := &network{worker: w, d: d, delay: time.Millisecond, lost: tt.lost, gone: tt.gone, base: time.Now()}
				sink, reopen := newRecord(t)
				s, err := startOne(t.Context(), n, twoLanes(time.Hour), sink)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(90 * time.Second)
				if err := s.Stop(t.Context()); err != nil {
					t.Error(err)
				}
				got := read(t, reopen())
				loadtest.CheckRows(t, got.rows, got.totals)
				if len(got.totals) != 2 || got.totals[0].Planned < 1800 || len(got.clocks) < 3 || len(got.trouble) != 0 {
					t.Errorf("totals %v, clocks %v, trouble %v", got.totals, got.clocks, got.trouble)
				}
				if left := len(w.current.segments.segments); left != 0 {
					t.Errorf("the worker still holds %d segments", left)
				}
			})
		})
	}
}

// Rows are on the run's clock, which began before the worker's.
func TestRowsAreOnTheRunsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink, reopen := newRecord(t)
		time.Sleep(time.Minute)
		w := fakeWorker(t, loadtest.Late(7*time.Millisecond))
		time.Sleep(5 * time.Second)
		n := &network{worker: w, d: loadtest.NewDice(1), delay: time.Millisecond}
		s, err := startOne(t.Context(), n, twoLanes(time.Second), sink)
		if err != nil {
			t.Fatal(err)
		}
		begun := sink.Now()
		time.Sleep(3 * time.Second)
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Errorf("stopped again: %v", err)
		}
		got := read(t, reopen())
		want := history.Clock{Worker: "w", Offset: time.Minute, Uncertainty: time.Millisecond}
		for _, c := range got.clocks {
			if c != want {
				t.Errorf("clock %+v, want %+v", c, want)
			}
		}
		for _, r := range got.rows {
			if r.Lane != history.LaneFresh {
				continue
			}
			if due := begun + time.Duration(r.Seq)*50*time.Millisecond; r.Due != due || r.Done != r.Sent+7*time.Millisecond {
				t.Errorf("request %d: due %v (want %v), sent %v, done %v", r.Seq, r.Due, due, r.Sent, r.Done)
			}
		}
	})
}

// Unsent requests have no sent time on any clock.
func TestUnsentHasNoMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Minute)
		sink, reopen := newRecord(t)
		w := fakeWorker(t, loadtest.Late(0))
		w.maxRows = 1
		s, err := startOne(t.Context(), &network{worker: w, d: loadtest.NewDice(1)}, twoLanes(time.Second), sink)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		got := read(t, reopen())
		loadtest.CheckRows(t, got.rows, got.totals) // which looks at Sent
	})
}

func TestTotalsWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{worker: fakeWorker(t, loadtest.RoundTrip(func(r *http.Request) (*http.Response, error) {
			answer := loadtest.Good(r)
			if strings.HasSuffix(r.Header.Get(backend.HeaderID), "0") {
				answer.StatusCode = http.StatusServiceUnavailable
			}
			return answer, nil
		})), d: loadtest.NewDice(1), base: time.Now(), gone: away(11*time.Second, 30*time.Second)}
		sink, _ := newRecord(t)
		s, err := startOne(t.Context(), n, twoLanes(time.Minute), sink)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10*time.Second + 10*time.Millisecond)
		got := s.Totals()
		// The request that is due at this moment may or may not be counted.
		if got.Sent/2 != 100 || got.Failed < 20 || got.Failed > 21 || got.Silent > time.Second || got.Finished {
			t.Errorf("after ten seconds: %+v", got)
		}
		time.Sleep(15 * time.Second)
		if silent := s.Totals().Silent; silent < 14*time.Second || silent > 16*time.Second {
			t.Errorf("silent for %v, want about 15s", silent)
		}
		time.Sleep(time.Minute)
		if got := s.Totals(); !got.Finished || got.Sent != 1200 || s.Err() != nil {
			t.Errorf("after its minute: %+v, %v", got, s.Err())
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Rows are lost with their worker, and the record says so.
func TestWorkerIsGone(t *testing.T) {
	tests := []struct {
		name string
		lose func(t *testing.T, n *network)
		want string
	}{
		{"its process was restarted", func(t *testing.T, n *network) {
			n.worker.current.attack.Stop(0)
			n.worker = fakeWorker(t, loadtest.Late(0))
			n.worker.instance = "second"
		}, "another process answers in its place"},
		{"its pod was deleted", func(_ *testing.T, n *network) {
			n.gone = func(time.Duration) *http.Response { return textAnswer(404, `pods "load-0" not found`) }
		}, `its pod was not found 10 times in a row`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &network{worker: fakeWorker(t, loadtest.Late(0)), d: loadtest.NewDice(1)}
				first := n.worker
				sink, reopen := newRecord(t)
				s, err := startOne(t.Context(), n, twoLanes(time.Minute), sink)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(5*time.Second + time.Millisecond)
				n.mu.Lock()
				tt.lose(t, n)
				n.mu.Unlock()
				time.Sleep(30 * time.Second)
				if err := s.Err(); !errors.Is(err, ErrWorkerGone) {
					t.Errorf("half a minute later it is %v", err)
				}
				err = s.Stop(t.Context())
				if !errors.Is(err, ErrWorkerGone) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("stopped with %v, want %q", err, tt.want)
				}
				got := read(t, reopen())
				if len(got.trouble) != 1 || !strings.Contains(got.trouble[0], tt.want) || len(got.totals) != 0 {
					t.Errorf("the record has trouble %q and totals %v", got.trouble, got.totals)
				}
				<-first.current.finished
			})
		})
	}
}

// Stop gives up on an API server that does not come back when its context ends, and no row is invented.
func TestStopGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fakeWorker(t, loadtest.Late(0))
		n := &network{worker: w, d: loadtest.NewDice(1), base: time.Now(), gone: away(5*time.Second, time.Hour)}
		sink, reopen := newRecord(t)
		s, err := startOne(t.Context(), n, twoLanes(time.Minute), sink)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = s.Stop(ctx)
		want := "collect the load of w (load worker 1 of 1): tried for 1m0s: POST /stop?plan=p%2F1&at=10.62s: a proxy in front of the worker said 503: " +
			"the server is currently unable to handle the request (context deadline exceeded)"
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if got := read(t, reopen()); len(got.trouble) != 1 {
			t.Errorf("trouble in the record: %q", got.trouble)
		}
		<-w.current.finished
	})
}

// The end of Start's context ends collecting, not the load: Stop still gets the rest.
func TestStopAfterTheContextEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{worker: fakeWorker(t, loadtest.Late(0)), d: loadtest.NewDice(1)}
		sink, reopen := newRecord(t)
		ctx, cancel := context.WithCancel(t.Context())
		s, err := startOne(ctx, n, twoLanes(time.Minute), sink)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		cancel()
		time.Sleep(5 * time.Second)
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		got := read(t, reopen())
		loadtest.CheckRows(t, got.rows, got.totals)
		if got.totals[0].Planned < 200 {
			t.Errorf("totals %v, want ten seconds of load", got.totals)
		}
	})
}

func TestStartRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{worker: fakeWorker(t, loadtest.Late(0)), d: loadtest.NewDice(1), base: time.Now()}
		sink, _ := newRecord(t)
		_, err := startOne(t.Context(), n, load.Plan{ID: "x"}, sink)
		if err == nil || err.Error() != "start load x: plan x: no lanes" {
			t.Errorf("without lanes: %v", err)
		}
		n.gone = away(0, time.Hour)
		_, err = startOne(t.Context(), n, twoLanes(time.Minute), sink)
		if err == nil || !strings.HasPrefix(err.Error(), "start load p/1: read clock: tried for 1m0s: ") {
			t.Errorf("without a network: %v", err)
		}
		n.gone = nil
		other, err := startOne(t.Context(), n, twoLanes(time.Second), sink)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = startOne(t.Context(), n, planFor("two", time.Second), sink); err == nil ||
			!strings.Contains(err.Error(), "the worker said 409: plan p/1 is running or not yet collected") {
			t.Errorf("on a busy worker: %v", err)
		}
		if err := other.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A record that cannot be written ends collecting, and the worker keeps all rows that are not in the record.
func TestRecordCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fakeWorker(t, loadtest.Late(0))
		n := &network{worker: w, d: loadtest.NewDice(1)}
		dir := t.TempDir()
		sink, err := history.Create(dir, history.Header{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := startOne(t.Context(), n, twoLanes(4*time.Second), sink)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(dir, history.RequestsFolder)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), "no such file or directory") {
			t.Errorf("got %v", err)
		}
		if err := s.Stop(t.Context()); err == nil {
			t.Error("stopped without an error")
		}
		if w.current.segments.empty() {
			t.Error("the worker was told to forget what is not in the record")
		}
	})
}
