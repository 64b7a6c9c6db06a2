package load

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
)

// randomPlan returns a plan of a few seconds with random lanes, rates and limits.
func randomPlan(d *loadtest.Dice) Plan {
	p := Plan{ID: "p", Duration: time.Second + d.UpTo(6*time.Second)}
	for _, name := range []history.Lane{history.LaneFresh, history.LaneReused, LaneSocket, history.LaneControl} {
		if len(p.Lanes) > 0 && d.N(2) == 0 {
			continue
		}
		p.Lanes = append(p.Lanes, Lane{
			Lane: name, Target: "http://target/", Rate: 0.5 + float64(d.N(150)), InFlight: d.N(30),
			Timeouts: Timeouts{Response: d.UpTo(5 * time.Second)},
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
				d := loadtest.NewDice(seed)
				maxRows := 0
				if d.N(3) == 0 {
					maxRows = 1 + d.N(500)
				}
				a, until := playRandomly(t, d, maxRows)
				checkPlanned(t, a, until)
				for _, r := range a.check(t) {
					why[r.Err]++
				}
			})
		})
	}
	for _, reason := range []string{unsentBusy, unsentLate, unsentFull} {
		if why[reason] == 0 {
			t.Errorf("no request was unsent because %s: the test tries too little", reason)
		}
	}
	t.Log(slices.Sorted(maps.Keys(why)))
}

// playRandomly plays a plan to its end, or stops it before, and returns from when on no request was due.
func playRandomly(t *testing.T, d *loadtest.Dice, maxRows int) (*playing, history.Offset) {
	p := randomPlan(d)
	a := prepare(t, p, loadtest.Moody(d), maxRows)
	frozen := d.N(2) == 0
	for _, l := range a.lanes {
		if frozen {
			l.pacer = sleepy{Pacer: l.pacer, d: d}
		}
	}
	go a.play()
	until := p.Duration - 1
	if d.N(2) == 0 {
		stopped := d.UpTo(p.Duration)
		time.Sleep(stopped)
		checkUnderWay(t, a)
		at := a.now() + d.UpTo(time.Second)*time.Duration(d.N(2)) // now, or told beforehand
		a.Stop(at)
		a.Stop(at + time.Second) // which changes nothing
		until = min(until, at-1)
	}
	<-a.finished
	return a, until
}

// checkUnderWay checks that requests that are neither sent nor unsent are in flight.
func checkUnderWay(t *testing.T, a *playing) {
	t.Helper()
	for i, status := range a.Status() {
		most := uint64(a.lanes[i].InFlight + 1) // one more may be in dispatch, or waiting for a connection
		if status.Sent+status.Unsent+most < status.Planned || status.Planned < status.Sent+status.Unsent {
			t.Errorf("planned %d, sent %d, unsent %d, with at most %d in flight: %s",
				status.Planned, status.Sent, status.Unsent, most, status.Lane)
		}
	}
}

// checkPlanned compares the number of planned requests with the schedule.
func checkPlanned(t *testing.T, a *playing, until history.Offset) {
	t.Helper()
	for i, status := range a.Status() {
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

// A lane is an open loop: requests are sent when they are due even if the server is slow.
func TestSlowAnswersDoNotSlowTheSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := prepare(t, Plan{ID: "p", Duration: 2 * time.Second, Lanes: []Lane{
			{Lane: history.LaneFresh, Target: "http://target/", Rate: 100},
		}}, loadtest.Late(time.Second), 0)
		a.play()
		for _, r := range a.check(t) {
			if r.Outcome != history.OK || r.Sent != r.Due || r.Done != r.Due+time.Second {
				t.Errorf("request %d was due at %v, sent at %v, done at %v: %s", r.Seq, r.Due, r.Sent, r.Done, r.Outcome)
			}
		}
		if lag := a.Status()[0].LagMax; lag != 0 {
			t.Errorf("lag is %v", lag)
		}
	})
}

// A worker that was frozen catches up without a burst, which would not be the planned load.
func TestCatchingUpIsNoBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := prepare(t, Plan{ID: "p", Duration: 4 * time.Second, Lanes: []Lane{
			{Lane: history.LaneFresh, Target: "http://target/", Rate: 200},
		}}, loadtest.Late(0), 0)
		a.lanes[0].pacer = &freeze{Pacer: a.lanes[0].pacer, at: 100, span: 900 * time.Millisecond}
		a.play()
		var sent []history.Offset
		for _, r := range a.check(t) {
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

// A server that says that there are too many requests gets no more: it is somebody else's, and others need it.
func TestAPlanYields(t *testing.T) {
	for _, yields := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			crowded := loadtest.RoundTrip(func(r *http.Request) (*http.Response, error) {
				status := http.StatusOK
				if asked++; asked == 10 {
					status = http.StatusTooManyRequests
				}
				return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
			})
			p := Plan{ID: "p", Duration: 5 * time.Second, Yields: yields, Lanes: []Lane{{Lane: history.LaneFresh, Target: "http://target/", Rate: 10}}}
			a := prepare(t, p, crowded, 0)
			a.play()
			rows := a.check(t)
			if want := map[bool]int{true: 10, false: 50}[yields]; asked != want || len(rows) != want {
				t.Errorf("yields %t: %d requests and %d rows, want %d", yields, asked, len(rows), want)
			}
		})
	}
}
