package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// slowed has a lane's answers to what is sent at a time take so long.
func slowed(b *ht.Builder, lane history.Lane, from, to, took history.Offset) *ht.Builder {
	return b.EditRequests(func(r *history.Request) {
		if r.Lane == lane && r.Outcome != history.Unsent && r.Sent >= from && r.Sent < to {
			r.Done = r.Sent + took
		}
	})
}

// watched is Healthy with a control lane.
func watched() *ht.Builder {
	return ht.Healthy().Load(history.LaneControl, 20, ht.SteadyAt, ht.DrainedAt)
}

func TestAnswersWithin(t *testing.T) {
	all := invariant.AnswersWithin{}
	const (
		fresh, reused = history.LaneFresh, history.LaneReused
	)
	checkAll(t, []sample{
		{"held", watched(), all, verdict.Held, 0},
		{"slower, and within the limits", slowed(slowed(watched(), fresh, 17*second, 17010*ms, 2002*ms), reused, 18*second, 20*second, 1001*ms), all, verdict.Held, 0},
		{"one answer", slowed(watched(), fresh, 17*second, 17005*ms, 2003*ms), all, verdict.Violated, 17 * second},
		{"one of a hundred", slowed(watched(), reused, 18*second, 19*second, 1100*ms), all, verdict.Violated, 18 * second},
		{"one of a hundred, when all was over", slowed(watched(), reused, 36*second, 36100*ms, 1100*ms), all, verdict.Violated, 36 * second},
		{"limits of its own", slowed(watched(), reused, 18*second, 18005*ms, 60*ms), invariant.AnswersWithin{Slowest: 50 * ms, P99: 10 * ms}, verdict.Violated, 18 * second},
		{"under way when the fault began", slowed(watched(), fresh, ht.InjectingAt-100*ms, ht.InjectingAt, 2900*ms), all, verdict.Violated, ht.InjectingAt - 100*ms},
		{"on a lane that is not promised", slowed(watched(), fresh, 17*second, 18*second, 2900*ms), invariant.AnswersWithin{Lanes: []history.Lane{reused}}, verdict.Held, 0},
		{"the control lane as slow", slowed(slowed(watched(), fresh, 17*second, 17005*ms, 2900*ms), history.LaneControl, 17100*ms, 17200*ms, 1000*ms), all,
			verdict.Unknown, 0},
		{"the control lane not as slow", slowed(slowed(watched(), fresh, 17*second, 17005*ms, 2900*ms), history.LaneControl, 17100*ms, 17200*ms, 800*ms), all,
			verdict.Violated, 17 * second},
		{"the control lane as slow at another moment", slowed(slowed(watched(), fresh, 17*second, 17005*ms, 2900*ms), history.LaneControl, 21*second, 21100*ms, 2900*ms), all,
			verdict.Violated, 17 * second},
		{"the control lane's percentile", slowed(slowed(watched(), reused, 18*second, 19*second, 1100*ms), history.LaneControl, 18*second, 18500*ms, 200*ms), all,
			verdict.Unknown, 0},
		{"sent late", watched().EditRequests(func(r *history.Request) {
			if r.Lane == fresh && r.Due == 17*second {
				r.Sent, r.Done = r.Due+300*ms, r.Due+2100*ms
			}
		}), all, verdict.Unknown, 0},
		{"a failed request", watched().Fail(fresh, 17*second, 17005*ms, history.Reset), all, verdict.Unknown, 0},
		{"slow before", slowed(watched(), reused, 12*second, 12005*ms, 800*ms), all, verdict.Unknown, 0},
		{"slow before, of a user's application", slowed(watched(), reused, 12*second, 12005*ms, 800*ms), invariant.AnswersWithin{Foreign: true}, verdict.Held, 0},
		{"slow before, and slower since", slowed(slowed(watched(), reused, 12*second, 12005*ms, 800*ms), fresh, 17*second, 17005*ms, 2500*ms),
			invariant.AnswersWithin{Foreign: true}, verdict.Violated, 17 * second},
		{"one of a hundred of the slow ones", slowed(slowed(watched(), reused, 12*second, 12005*ms, 800*ms), reused, 18*second, 19*second, 1100*ms),
			invariant.AnswersWithin{Foreign: true}, verdict.Violated, 18 * second},
		{"not enough before", watched().DropRequests(func(r history.Request) bool { return r.Due < 15010*ms }).EditEvents(func(e *history.Event) {
			if e.Phase != nil && e.Phase.Name == history.Steady {
				e.T = 15010 * ms
			}
			if e.Phase != nil && e.Phase.Name == history.Disturbed {
				e.T = 15400 * ms
			}
		}).EditRequests(func(r *history.Request) {
			r.Seq -= map[history.Lane]uint64{fresh: 1002, reused: 1002, history.LaneControl: 101}[r.Lane]
		}),
			all, verdict.Unknown, 0},
		{"requests that are not sent", watched().EditRequests(func(r *history.Request) {
			if r.Seq%20 == 3 && r.Lane == fresh {
				unsend(r)
			}
		}), all, verdict.Unknown, 0},
		{"unknown", watched().Incomplete("cut off"), all, verdict.Unknown, 0},
	})
}

func TestAnswersWithinEvidence(t *testing.T) {
	b := slowed(slowed(ht.Healthy(), history.LaneFresh, 17*second, 18*second, 2500*ms), history.LaneReused, 18*second, 18005*ms, 1500*ms)
	v := check(t, b.Trouble(39*second, "logs could not be collected").Run(), invariant.AnswersWithin{}, verdict.Violated, 17*second)
	lines(t, v)
	numbers(t, v, map[string]float64{
		"slowestSeconds.fresh": 2.5, "slowestSinceDueSeconds.fresh": 2.5, "p99Seconds.fresh": 2.5, "slowestSeconds.reused": 1.5,
		"p99SteadySeconds.fresh": 0.002, "blindSeconds.fresh": 0.005, "requests.fresh": 6000,
	})
}

// TestInvisibleAndSlow: a real run that was held for want of a promise about time: for five seconds every answer takes 2.9 s,
// which no client gives up on.
func TestInvisibleAndSlow(t *testing.T) {
	_, run := unpackGolden(t, "drain-one-worker")
	rows, began := rowsOf(t, run), timeline.Faults(run)[0].Injecting.At
	p := invariant.AnswersWithin{}
	if v := judge.Check(run, p); v.Outcome != verdict.Held {
		t.Errorf("as it was it is %s: %s", v.Outcome, v.Seen)
	}
	for i := range rows {
		if r := &rows[i]; r.Lane != history.LaneControl && r.Sent >= began+second && r.Sent < began+6*second {
			r.Done = r.Sent + 2900*ms
		}
	}
	edited := withRows(run, rows)
	if v := judge.Check(edited, (invariant.NoFailedRequests{})); v.Outcome != verdict.Held {
		t.Errorf("%s is %s: %s", v.Kind, v.Outcome, v.Seen)
	}
	if v := judge.Check(edited, p); v.Outcome != verdict.Violated || v.At < began || v.Numbers["p99Seconds.fresh"] < 2.8 {
		t.Errorf("%s is %s at %s: %s", v.Kind, v.Outcome, v.At, v.Seen)
	}
}
