package invariant_test

import (
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// late sends what would have been sent on some lanes from a moment on only at another, as a worker does that stood still.
func late(rows []history.Request, lanes []history.Lane, from, to history.Offset) {
	for i := range rows {
		r := &rows[i]
		if slices.Contains(lanes, r.Lane) && r.Outcome != history.Unsent && r.Sent >= from && r.Sent < to {
			r.Sent, r.Done = to, r.Done+(to-r.Sent)
		}
	}
}

// unsend takes a request back.
func unsend(r *history.Request) {
	*r = history.Request{Worker: r.Worker, Lane: r.Lane, Seq: r.Seq, Due: r.Due, Done: r.Done, Outcome: history.Unsent}
}

// doubted fails unless a promise is Unknown, for the stored reasons.
func doubted(t *testing.T, v verdict.Verdict) {
	t.Helper()
	if v.Outcome != verdict.Unknown {
		t.Errorf("%s is %s: %s", v.Kind, v.Outcome, v.Seen)
	}
	lines(t, v)
}

// TestNothingWasSent: a real run in which the load worker stands still and then sends what was due meanwhile. All its requests
// are good, and have been counted for the time when they were due; an outage in that time would have failed none of them.
func TestNothingWasSent(t *testing.T) {
	_, run := unpackGolden(t, "drain-one-worker")
	rows := rowsOf(t, run)
	fault := timeline.Faults(run)[0]
	began, healing, healed := fault.Injecting.At, fault.Healing.At, fault.Healed.At
	_, end, _ := run.Window(history.Recovered)
	both := []history.Lane{history.LaneFresh, history.LaneReused}
	for name, s := range map[string]struct {
		lanes    []history.Lane
		from, to history.Offset
		unsent   int
	}{
		"for 0.95s":                   {both, began + 1200*ms, began + 2150*ms, 0},
		"for 1.04s, and a few unsent": {both, began + 1200*ms, began + 2240*ms, 8},
		"on one lane":                 {both[:1], began + 1200*ms, began + 2150*ms, 0},
		"on the other":                {both[1:], began + 1200*ms, began + 2150*ms, 0},
		"as the fault began":          {both, began - 500*ms, began + 400*ms, 0},
		"as its revert began":         {both, healing - 200*ms, healing + 200*ms, 0},
		"as it was over":              {both, healed - 50*ms, healed + 300*ms, 0},
		"at the end of the load":      {both, end - 400*ms, end, 0},
	} {
		t.Run(name, func(t *testing.T) {
			edited := slices.Clone(rows)
			late(edited, s.lanes, s.from, s.to)
			for i, left := 0, s.unsent; left > 0; i++ {
				if r := &edited[i]; r.Sent == s.to && r.Due < s.to-100*ms {
					unsend(r)
					left--
				}
			}
			doubted(t, judge.Check(withRows(run, edited), invariant.NoFailedRequests{}))
		})
	}
}

// TestShortStandstill: a load worker may be late by as much as it is on busy machines. The verdict says what went unseen.
func TestShortStandstill(t *testing.T) {
	_, run := unpackGolden(t, "drain-one-worker")
	rows, began := rowsOf(t, run), timeline.Faults(run)[0].Injecting.At
	late(rows, []history.Lane{history.LaneFresh, history.LaneReused}, began+1200*ms, began+1440*ms)
	unsend(&rows[slices.IndexFunc(rows, func(r history.Request) bool { return r.Lane == history.LaneFresh && r.Sent >= began+2*second })])
	v := check(t, withRows(run, rows), invariant.NoFailedRequests{}, verdict.Held, 0)
	numbers(t, v, map[string]float64{
		"blindSeconds.reused": 0.248, "shortestOutageSeenSeconds.reused": 0.249, "blindSeconds.fresh": 0.241, "unsent.fresh": 1, "unsent.reused": 0,
	})
}

// TestLostNodeAndNothingSent: the same of the promise that allows failures for a time, and of a slow lane.
func TestLostNodeAndNothingSent(t *testing.T) {
	gap := func(from, to history.Offset) *ht.Builder {
		return killed().EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneFresh && r.Sent >= from && r.Sent < to {
				r.Sent, r.Done = to, to+ht.Latency
			}
		})
	}
	doubted(t, judge.Check(gap(20*second, 20900*ms).Run(), invariant.FailuresEndWithin{}))
	slow := killed().DropRequests(func(r history.Request) bool { return r.Lane == history.LaneFresh })
	slow.Load(history.LaneFresh, 5, ht.SteadyAt, ht.DrainedAt).Header(func(h *history.Header) { h.Plan.Lanes[0].RatePerSecond = 5 })
	p := invariant.NoFailedRequests{}
	if v := judge.Check(slow.Run(), p); v.Outcome != verdict.Held || v.Numbers["blindSeconds.fresh"] != 0.2 {
		t.Errorf("a lane with 5 requests a second is %s: %s", v.Outcome, v.Seen)
	}
	slow.EditRequests(func(r *history.Request) {
		if r.Lane == history.LaneFresh && r.Due >= 20*second && r.Due < 20400*ms {
			r.Sent, r.Done = r.Sent+300*ms, r.Done+300*ms
		}
	})
	doubted(t, judge.Check(slow.Run(), p))
}

// TestOneOfTwoWorkersStandsStill: what the other sends comes from another node, and shows nothing of what the first would meet.
func TestOneOfTwoWorkersStandsStill(t *testing.T) {
	_, run := unpackGolden(t, "drain-one-worker")
	rows, began := rowsOf(t, run), timeline.Faults(run)[0].Injecting.At
	for i := range rows {
		if r := &rows[i]; r.Seq%2 == 1 {
			r.Worker = "load-1"
		}
		rows[i].Seq /= 2
	}
	p := invariant.NoFailedRequests{}
	if v := judge.Check(withRows(run, slices.Clone(rows)), p); v.Outcome != verdict.Held {
		t.Errorf("two workers are %s: %s", v.Outcome, v.Seen)
	}
	for i := range rows {
		if r := &rows[i]; r.Worker == "load-1" && r.Lane != history.LaneControl && r.Sent >= began+1200*ms && r.Sent < began+2150*ms {
			r.Sent, r.Done = began+2150*ms, r.Done+began+2150*ms-r.Sent
		}
	}
	doubted(t, judge.Check(withRows(run, rows), p))
}

// TestRequestsThatAreNotSent: one of twenty in every second is within what a window may lack, and each of them is an interval in
// which nothing was sent.
func TestRequestsThatAreNotSent(t *testing.T) {
	_, run := unpackGolden(t, "drain-one-worker")
	rows := rowsOf(t, run)
	for i := range rows {
		if rows[i].Seq%20 == 7 && rows[i].Lane != history.LaneControl {
			unsend(&rows[i])
		}
	}
	v := judge.Check(withRows(run, rows), invariant.NoFailedRequests{})
	doubted(t, v)
	numbers(t, v, map[string]float64{"unsent.fresh": 57, "blindSeconds.fresh": 0.021})
}

// TestSentInBursts: standstills that are short enough one by one, with hardly a moment between them.
func TestSentInBursts(t *testing.T) {
	_, run := unpackGolden(t, "drain-one-worker")
	rows := rowsOf(t, run)
	for i := range rows {
		if r := &rows[i]; r.Lane != history.LaneControl {
			sent := (r.Sent + 240*ms).Truncate(240 * ms)
			r.Done, r.Sent = r.Done+sent-r.Sent, sent
		}
	}
	doubted(t, judge.Check(withRows(run, rows), invariant.NoFailedRequests{}))
}
