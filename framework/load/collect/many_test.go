package collect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
)

func contextFor(t *testing.T, span time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), span)
}

// many are workers behind one client, each with a clock of its own.
type many struct {
	ways    []*network
	workers []Worker
}

func newMany(t *testing.T, n int, server func(i int) http.RoundTripper) *many {
	m := &many{}
	for i := range n {
		w := fakeWorker(t, server(i))
		w.name = fmt.Sprintf("load-%d", i)
		w.instance = fmt.Sprintf("instance-%d", i)
		m.ways = append(m.ways, &network{worker: w, d: loadtest.NewDice(uint64(i)), delay: time.Duration(1+i) * time.Millisecond, base: time.Now()})
		m.workers = append(m.workers, Worker{URL: fmt.Sprintf("http://w%d%s", i, proxyPath)})
		time.Sleep(700 * time.Millisecond) // the next one's clock begins later
	}
	return m
}

func (m *many) client() *http.Client {
	return &http.Client{Transport: loadtest.RoundTrip(func(r *http.Request) (*http.Response, error) {
		var i int
		if _, err := fmt.Sscanf(r.URL.Host, "w%d", &i); err != nil {
			return nil, err
		}
		return m.ways[i].carry(r)
	})}
}

// Four workers with four clocks, and networks that lose calls, send one plan: each hit once, when it is due by the run's clock, from a
// moment on that all were told beforehand, until another.
func TestManyWorkersSendOnePlan(t *testing.T) {
	for _, lost := range []int{0, 15} {
		synctest.Test(t, func(t *testing.T) {
			sink, reopen := newRecord(t)
			m := newMany(t, 4, func(int) http.RoundTripper { return loadtest.Late(2 * time.Millisecond) })
			for _, w := range m.ways {
				w.lost = lost
			}
			asked := sink.Now()
			s, err := Start(t.Context(), m.client(), m.workers, twoLanes(time.Hour), sink)
			if err != nil {
				t.Fatal(err)
			}
			began := sink.Now()
			time.Sleep(30*time.Second + 17*time.Millisecond)
			if err := s.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := read(t, reopen())
			checkEachHit(t, got)
			start := got.shares[0].Lanes[0].Start
			if lost == 0 && start != began || start < asked+noticeLeast {
				t.Errorf("asked at %s, began at %s, and the first hit is due at %s", asked, began, start)
			}
			latest := uint64(0)
			for _, r := range got.rows {
				at := start + time.Duration(r.Seq)*50*time.Millisecond
				if r.Lane == history.LaneControl {
					at = got.shares[0].Lanes[1].Start + time.Duration(r.Seq)*200*time.Millisecond
				} else {
					latest = max(latest, r.Seq)
				}
				if off := (r.Due - at).Abs(); off > time.Microsecond {
					t.Fatalf("%s hit %d of %s is due at %s, want %s", r.Lane, r.Seq, r.Worker, r.Due, at)
				}
				if want := fmt.Sprintf("load-%d", r.Seq%4); r.Worker != want {
					t.Fatalf("hit %d was sent by %s, want %s", r.Seq, r.Worker, want)
				}
			}
			if ended := start + time.Duration(latest)*50*time.Millisecond; lost == 0 && (ended < began+30*time.Second || ended > began+32*time.Second) {
				t.Errorf("the last hit was due at %s", ended)
			}
			if len(got.shares) != 4 || len(got.totals) != 8 || len(got.trouble) != 0 {
				t.Errorf("%d shares, %d totals, trouble %q", len(got.shares), len(got.totals), got.trouble)
			}
			for _, w := range m.ways {
				if lost == 0 && !closed(w.worker.collected) {
					t.Errorf("%s goes on although its rows are collected", w.worker.name)
				}
			}
		})
	}
}

// A worker that is lost is named, and the others go on: all of their hits are in the record.
func TestOneOfManyWorkersIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink, reopen := newRecord(t)
		m := newMany(t, 4, func(int) http.RoundTripper { return loadtest.Late(2 * time.Millisecond) })
		dead := false
		m.workers[2].Gone = func(context.Context) string {
			if dead {
				return "pod load-2 has ended: Failed, container load: OOMKilled, exit code 137"
			}
			return ""
		}
		s, err := Start(t.Context(), m.client(), m.workers, twoLanes(time.Hour), sink)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(20*time.Second + 5*time.Millisecond)
		m.ways[2].mu.Lock()
		dead = true
		m.ways[2].gone = func(time.Duration) *http.Response {
			return textAnswer(http.StatusBadGateway, "dial tcp 10.244.0.7:8080: connect: connection refused")
		}
		m.ways[2].mu.Unlock()
		time.Sleep(20 * time.Second)
		const want = "collect the load of load-2 (load worker 3 of 4): the load worker is gone: pod load-2 has ended: Failed, container load: OOMKilled, exit code 137"
		if err := s.Err(); !errors.Is(err, ErrWorkerGone) || err.Error() != want {
			t.Errorf("while it runs: %v", err)
		}
		if answered, err := s.Answered(t.Context()); err != nil || len(answered[history.LaneFresh]) != 3 {
			t.Errorf("answered %v, %v", answered, err)
		}
		began := time.Now()
		if err := s.Stop(t.Context()); err == nil || err.Error() != want {
			t.Errorf("stopped with %v", err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("to stop took %s", took)
		}
		m.ways[2].worker.current.attack.Stop(0)
		<-m.ways[2].worker.current.finished
		got := read(t, reopen())
		if len(got.trouble) != 1 || got.trouble[0] != want {
			t.Errorf("trouble %q", got.trouble)
		}
		if len(got.totals) != 6 || len(got.shares) != 4 {
			t.Errorf("totals %v of %d shares", got.totals, len(got.shares))
		}
		rows := map[string]int{}
		for _, r := range got.rows {
			if r.Lane == history.LaneFresh {
				rows[r.Worker]++
			}
		}
		if rows["load-2"] < 80 || rows["load-2"] > 105 || rows["load-0"] < 195 || rows["load-3"] < 195 {
			t.Errorf("rows %v: want a half of what the others have", rows)
		}
	})
}

// Workers that were told to begin end, if others could not be told.
func TestWorkersThatCannotAllBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink, _ := newRecord(t)
		m := newMany(t, 3, func(int) http.RoundTripper { return loadtest.Late(0) })
		m.ways[1].before = func() { // it is told to begin, and the answer is lost, like all that follows
			if m.ways[1].worker.current != nil {
				m.ways[1].lost = 100
			}
		}
		_, err := Start(t.Context(), m.client(), m.workers, twoLanes(time.Hour), sink)
		if err == nil || !strings.Contains(err.Error(), "load-1 (load worker 2 of 3): ") {
			t.Fatalf("got %v", err)
		}
		for _, i := range []int{0, 2} {
			if p := m.ways[i].worker.current; !p.done() {
				t.Errorf("load-%d goes on", i)
			}
		}
		m.ways[1].worker.current.attack.Stop(0) // which nobody could tell: it ends with its plan, or its pod
		<-m.ways[1].worker.current.finished
	})
	if _, err := Start(t.Context(), http.DefaultClient, nil, twoLanes(time.Hour), nil); err == nil {
		t.Error("began without a worker")
	}
}

// The plan of 200 workers has a rate that a single one cannot send.
func TestARateForManyWorkers(t *testing.T) {
	plan := load.Plan{ID: "p", Lanes: []load.Lane{{Lane: history.LaneReused, Target: "http://a/", Rate: 1_000_000}}}
	if plan.Validate() == nil {
		t.Error("one worker sends a million requests a second")
	}
	plan.Share = history.Share{Workers: 200}
	if err := plan.Validate(); err != nil {
		t.Error(err)
	}
}

// An answer with status 429 to one worker ends the load of all within seconds.
func TestAllWorkersYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink, reopen := newRecord(t)
		var answered atomic.Bool
		m := newMany(t, 4, func(i int) http.RoundTripper {
			serve := loadtest.Late(2 * time.Millisecond)
			return loadtest.RoundTrip(func(r *http.Request) (*http.Response, error) {
				if i == 2 && r.URL.Host == "target" && sink.Now() > 10*time.Second && answered.CompareAndSwap(false, true) {
					return textAnswer(http.StatusTooManyRequests, "slow down"), nil
				}
				return serve.RoundTrip(r)
			})
		})
		plan := twoLanes(time.Hour)
		plan.Yields = true
		s, err := Start(t.Context(), m.client(), m.workers, plan, sink)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if got := s.Totals(); !got.Finished || !got.Yielded || got.Untended {
			t.Errorf("after 30s: %+v", got)
		}
		_ = s.Stop(t.Context()) // hits are missing, which it says
		last := history.Offset(0)
		for _, r := range read(t, reopen()).rows {
			last = max(last, r.Sent)
		}
		if last < 10*time.Second || last > 20*time.Second {
			t.Errorf("the last request was sent at %s", last)
		}
	})
}

// A load whose harness is gone ends by itself, and one whose harness asks for its rows does not.
func TestUntendedLoadEnds(t *testing.T) {
	for name, asks := range map[string]bool{"the harness is gone": false, "the harness asks": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink, _ := newRecord(t)
				m := newMany(t, 1, func(int) http.RoundTripper { return loadtest.Late(2 * time.Millisecond) })
				plan := twoLanes(time.Hour)
				plan.Untended = time.Minute
				ctx, cancel := context.WithCancel(t.Context())
				s, err := Start(ctx, m.client(), m.workers, plan, sink)
				if err != nil {
					t.Fatal(err)
				}
				if !asks {
					cancel()
				}
				time.Sleep(5 * time.Minute)
				p := m.ways[0].worker.current
				if p.done() == asks || p.untended.Load() == asks {
					t.Errorf("after five minutes: done %t, untended %t", p.done(), p.untended.Load())
				}
				cancel()
				_ = s.Stop(t.Context())
			})
		})
	}
}
