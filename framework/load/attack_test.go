package load

import (
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// randomPlan returns a plan of a few seconds with random lanes, rates and limits.
func randomPlan(d *dice) Plan {
	p := Plan{ID: "p", Duration: time.Second + d.upTo(6*time.Second)}
	for _, name := range []history.Lane{history.LaneFresh, history.LaneReused, history.LaneStream, history.LaneControl} {
		if len(p.Lanes) > 0 && d.n(2) == 0 {
			continue
		}
		p.Lanes = append(p.Lanes, Lane{
			Lane: name, Target: "http://target/", Rate: 0.5 + float64(d.n(150)), InFlight: d.n(30),
			Timeouts: Timeouts{Response: d.upTo(5 * time.Second)},
		})
	}
	return p
}

// Planned = sent + unsent, and one row each, whatever happens: servers that are late or silent, a limit of requests in flight,
// a frozen process, no room for rows, a stop in the middle.
func TestEveryPlannedRequestHasItsRow(t *testing.T) {
	why := make(map[string]int)
	for seed := range uint64(100) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDice(seed)
				w := fakeWorker(t, moody(d))
				if d.n(3) == 0 {
					w.maxRows = 1 + d.n(500)
				}
				a, until := playRandomly(t, w, d)
				checkPlanned(t, a, until)
				for _, r := range checkAttack(t, a) {
					why[r.Err]++
				}
			})
		})
	}
	for _, reason := range []string{unsentBusy, unsentLate, unsentFull, unsentStopped} {
		if why[reason] == 0 {
			t.Errorf("no request was unsent because %s: the test tries too little", reason)
		}
	}
	t.Log(slices.Sorted(maps.Keys(why)))
}

// playRandomly plays a plan to its end, or stops it before, and returns from when on no request was due.
func playRandomly(t *testing.T, w *worker, d *dice) (*attack, history.Offset) {
	p := randomPlan(d)
	a, err := newAttack(t.Context(), p, w)
	if err != nil {
		t.Fatal(err)
	}
	frozen := d.n(2) == 0
	for _, l := range a.lanes {
		if frozen {
			l.pacer = sleepy{Pacer: l.pacer, d: d}
		}
	}
	go a.run(w.log)
	until := p.Duration - 1
	if d.n(2) == 0 {
		until = d.upTo(p.Duration)
		time.Sleep(until)
		checkUnderWay(t, a)
		a.stop(w.clock())
	}
	<-a.finished
	return a, until
}

// checkUnderWay checks that requests that are neither sent nor unsent are in flight.
func checkUnderWay(t *testing.T, a *attack) {
	t.Helper()
	for i, status := range a.record.status(a.plan.Lanes) {
		most := uint64(a.lanes[i].InFlight + 1) // one more may be in dispatch, or waiting for a stream
		if status.Sent+status.Unsent+most < status.Planned || status.Planned < status.Sent+status.Unsent {
			t.Errorf("planned %d, sent %d, unsent %d, with at most %d in flight: %s",
				status.Planned, status.Sent, status.Unsent, most, status.Lane)
		}
	}
}

// checkPlanned compares the number of planned requests with the schedule.
func checkPlanned(t *testing.T, a *attack, until history.Offset) {
	t.Helper()
	for i, status := range a.record.status(a.plan.Lanes) {
		l := a.lanes[i]
		due := uint64(0)
		for k := uint64(0); l.start+time.Duration(math.Round(float64(k)*1e9/l.Rate)) <= until; k++ {
			due++
		}
		if status.Planned != due {
			t.Errorf("lane %s at %v a second: planned %d until %v, want %d", l.Lane.Lane, l.Rate, status.Planned, until, due)
		}
	}
}

// checkAttack checks the rows of a finished attack, and returns them.
func checkAttack(t *testing.T, a *attack) []history.Request {
	t.Helper()
	var rows []history.Request
	for _, s := range a.record.shelf.segments {
		var packed strings.Builder
		if err := s.writeTo(&packed); err != nil {
			t.Fatal(err)
		}
		some, err := unpack([]byte(packed.String()))
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, some...)
	}
	checkRows(t, rows, a.record.status(a.plan.Lanes))
	return rows
}

// A lane is an open loop: requests are sent when they are due even if the server is slow.
func TestSlowAnswersDoNotSlowTheSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, err := newAttack(t.Context(), Plan{ID: "p", Duration: 2 * time.Second, Lanes: []Lane{
			{Lane: history.LaneFresh, Target: "http://target/", Rate: 100},
		}}, fakeWorker(t, late(time.Second)))
		if err != nil {
			t.Fatal(err)
		}
		a.run(slog.New(slog.DiscardHandler))
		for _, r := range checkAttack(t, a) {
			if r.Outcome != history.OK || r.Sent != r.Due || r.Done != r.Due+time.Second {
				t.Errorf("request %d was due at %v, sent at %v, done at %v: %s", r.Seq, r.Due, r.Sent, r.Done, r.Outcome)
			}
		}
		if lag := a.record.status(a.plan.Lanes)[0].LagMax; lag != 0 {
			t.Errorf("lag is %v", lag)
		}
	})
}

// A worker that was frozen catches up without a burst, which would not be the planned load.
func TestCatchingUpIsNoBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fakeWorker(t, late(0))
		a, err := newAttack(t.Context(), Plan{ID: "p", Duration: 4 * time.Second, Lanes: []Lane{
			{Lane: history.LaneFresh, Target: "http://target/", Rate: 200},
		}}, w)
		if err != nil {
			t.Fatal(err)
		}
		a.lanes[0].pacer = &freeze{Pacer: a.lanes[0].pacer, at: 100, span: 900 * time.Millisecond}
		a.run(w.log)
		var sent []history.Offset
		for _, r := range checkAttack(t, a) {
			if r.Outcome != history.OK {
				t.Errorf("request %d is %s: %s", r.Seq, r.Outcome, r.Err)
			}
			sent = append(sent, r.Sent)
		}
		const most = 17 // 10 ms at four times the rate are 8 requests, and catchUpBurst allows as many again
		for i := most; i < len(sent); i++ {
			if in := sent[i] - sent[i-most]; in <= 10*time.Millisecond {
				t.Fatalf("%d requests were sent within %v from %v on", most+1, in, sent[i-most])
			}
		}
		if last := len(sent) - 1; sent[last] != a.lanes[0].due(uint64(last)) {
			t.Errorf("the last request was still late: sent at %v", sent[last])
		}
	})
}

// freeze is a pacer that blocks its caller once.
type freeze struct {
	vegeta.Pacer
	at   uint64
	span time.Duration
}

func (f *freeze) Pace(elapsed time.Duration, hits uint64) (time.Duration, bool) {
	if hits == f.at {
		time.Sleep(f.span)
		f.span = 0
	}
	return f.Pacer.Pace(elapsed, hits)
}
