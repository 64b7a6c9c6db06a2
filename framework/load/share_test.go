package load

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
)

// shared plays the shares of a plan side by side, from the same moment on, and returns the rows of all workers.
func shared(t *testing.T, p Plan, workers int, maxRows int, play func(all []*playing)) (rows []history.Request) {
	t.Helper()
	var all []*playing
	for i := range workers {
		p.Share = history.Share{Index: i, Workers: workers}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		all = append(all, prepare(t, p, loadtest.Late(time.Millisecond), maxRows))
	}
	play(all)
	for i, a := range all {
		share := history.Share{Index: i, Workers: workers}
		n := map[history.Lane]uint64{}
		own := slices.Clone(a.rows.rows)
		slices.SortStableFunc(own, func(x, y history.Request) int { return int(x.Due - y.Due) })
		for _, r := range own {
			if r.Seq != share.Hit(n[r.Lane]) {
				t.Fatalf("worker %s sends hit %d of %s after hit %d", share, r.Seq, r.Lane, share.Hit(n[r.Lane]))
			}
			n[r.Lane]++
		}
		rows = append(rows, own...)
	}
	return rows
}

// The shares of any number of workers are the plan: each hit is sent by one worker, and at the moment at which a single worker sends it.
func TestSharesAreThePlan(t *testing.T) {
	full := 0
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := loadtest.NewDice(seed)
				p := randomPlan(d)
				workers, maxRows := 1+d.N(7), 0
				if d.N(3) == 0 {
					maxRows = 1 + d.N(50)
				}
				start, until := time.Second+d.UpTo(time.Second), p.Duration
				rows := shared(t, p, workers, maxRows, func(all []*playing) {
					for _, a := range all {
						go func() {
							a.Run(start)
							close(a.finished)
						}()
					}
					if d.N(2) == 0 { // all are told beforehand when to stop, one after the other
						time.Sleep(d.UpTo(p.Duration))
						at := all[0].now() + 300*time.Millisecond
						until = min(until, max(0, at-start))
						for _, a := range all {
							time.Sleep(10 * time.Millisecond)
							a.Stop(at)
						}
					}
					for _, a := range all {
						<-a.finished
					}
				})
				checkUnion(t, p, rows, start, until)
				for _, r := range rows {
					if r.Err == unsentFull {
						full++
					}
				}
			})
		})
	}
	if full == 0 {
		t.Error("no worker was short of room: the test tries too little")
	}
}

// checkUnion compares rows with the schedule of a plan that begins at start and ends until later.
func checkUnion(t *testing.T, p Plan, rows []history.Request, start, until history.Offset) {
	t.Helper()
	for i, s := range p.Starts(start) {
		var due []history.Offset
		for k := uint64(0); ; k++ {
			at := s.Start + time.Duration(math.Round(float64(k)*1e9/s.RatePerSecond))
			if at >= start+until {
				break
			}
			due = append(due, at)
		}
		seen := make([]bool, len(due))
		for _, r := range rows {
			if r.Lane != p.Lanes[i].Lane {
				continue
			}
			if r.Seq >= uint64(len(due)) || seen[r.Seq] || r.Due != due[r.Seq] {
				t.Fatalf("%s: hit %d is due at %v; the plan has %d hits", r.Lane, r.Seq, r.Due, len(due))
			}
			seen[r.Seq] = true
		}
		if k := slices.Index(seen, false); k >= 0 {
			t.Errorf("%s: hit %d of %d was sent by no worker", s.Lane, k, len(due))
		}
		if n := s.DueBefore(start + until); int(n) < len(due)-1 || int(n) > len(due)+1 {
			t.Errorf("%s: the record says that %d hits are due, and there are %d", s.Lane, n, len(due))
		}
	}
}

// A start that has passed shifts no hit: what is overdue is late, or unsent.
func TestALateStartShiftsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Plan{ID: "p", Duration: 4 * time.Second, Lanes: []Lane{{Lane: history.LaneFresh, Target: "http://target/", Rate: 10}}}
		rows := shared(t, p, 2, 0, func(all []*playing) {
			time.Sleep(3 * time.Second)
			for _, a := range all {
				a.Run(0)
			}
		})
		checkUnion(t, p, rows, 0, 4*time.Second)
		unsent := 0
		for _, r := range rows {
			if r.Err == unsentLate {
				unsent++
			}
		}
		if unsent < 18 { // two seconds of it, and what the second worker is later still
			t.Errorf("%d of %d hits were unsent", unsent, len(rows))
		}
	})
}

// Each of a worker's connections gets its turn, however many workers share the plan.
func TestEachConnectionOfAWorkerGetsItsTurn(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		l := &lane{share: history.Share{Index: workers - 1, Workers: workers}}
		for n := range uint64(20) {
			if got := l.turn(l.share.Hit(n)); got != n {
				t.Errorf("of %d workers, hit %d is the worker's number %d, want %d", workers, l.share.Hit(n), got, n)
			}
		}
	}
}

// Connections that are to be idle are all idle for about as long, however many workers there are, and not all for exactly as long. Each worker has as many
// as that takes.
func TestConnectionsAreIdle(t *testing.T) {
	for _, workers := range []int{1, 2, 3} {
		for _, rate := range []float64{0.3, 10, 25.6, 50} {
			share := history.Share{Index: workers - 1, Workers: workers}
			of := Lane{Lane: history.LaneReused, Target: "http://a/", Rate: rate, Idle: 5 * time.Second}.withDefaults("", share)
			l := &lane{Lane: of, share: share}
			last, shortest, longest := map[uint64]float64{}, 1e9, 0.0
			for n := range uint64(10 * of.Connections) {
				at := float64(share.Hit(n)) / rate
				c := l.turn(share.Hit(n)) % uint64(of.Connections)
				if was, used := last[c]; used {
					shortest, longest = min(shortest, at-was), max(longest, at-was)
				}
				last[c] = at
			}
			between := float64(workers) / rate // two requests of a worker
			if len(last) != of.Connections || shortest < 4.5-between || longest > 5.5+between {
				t.Errorf("%d workers at %v: %d of %d connections are idle for %.3f to %.3f s", workers, rate, len(last), of.Connections, shortest, longest)
			}
			if of.Connections >= 20 && (shortest > 5 || longest < 5) || of.Connections >= 100 && longest-shortest < 0.5 {
				t.Errorf("%d workers at %v: all are idle for %.3f to %.3f s", workers, rate, shortest, longest)
			}
		}
	}
}
