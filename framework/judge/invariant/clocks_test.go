package invariant_test

import (
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Whether a failure at the edge of the load counts depends on an order that the clocks do not tell: 300 µs in built records.
func TestAFailureAtTheEdgeOfTheLoad(t *testing.T) {
	const µs = time.Microsecond
	for due, want := range map[history.Offset]verdict.Outcome{
		ht.SteadyAt - ms: verdict.Held, ht.SteadyAt - 200*µs: verdict.Unknown,
		ht.DrainedAt + 200*µs: verdict.Unknown, ht.DrainedAt + ms: verdict.Held, ht.DrainedAt - ms: verdict.Violated,
	} {
		b := ht.Healthy().Request(history.Request{Due: due, Outcome: history.Reset})
		if v := judge.Check(b.Run(), invariant.NoFailedRequests{}); v.Outcome != want {
			t.Errorf("due at %s: %s: %s, want %s", due, v.Outcome, v.Seen, want)
		}
		// A good answer there decides nothing.
		b = ht.Healthy().Request(history.Request{Due: due})
		if v := judge.Check(b.Run(), invariant.NoFailedRequests{}); v.Outcome != verdict.Held {
			t.Errorf("a good answer due at %s: %s: %s", due, v.Outcome, v.Seen)
		}
	}
}

// A slow answer that may have come after the fault began does not show that the system was that slow before.
func TestASlowAnswerAtTheBeginningOfAFault(t *testing.T) {
	slow := func(done history.Offset) *ht.Builder {
		return ht.Healthy().EditRequests(func(r *history.Request) {
			switch {
			case r.Lane != history.LaneFresh:
			case r.Seq == 1000: // before the fault, which begins at 15.5 s
				r.Due, r.Sent, r.Done = done-700*ms, done-700*ms, done
			case r.Seq == 2000:
				r.Done = r.Sent + 600*ms
			}
		})
	}
	p := invariant.AnswersWithin{Slowest: 500 * ms, P99: time.Second}
	if v := judge.Check(slow(ht.InjectingAt-ms).Run(), p); v.Outcome != verdict.Held {
		t.Errorf("as slow before: %s: %s", v.Outcome, v.Seen)
	}
	if v := judge.Check(slow(ht.InjectingAt-200*time.Microsecond).Run(), p); v.Outcome != verdict.Violated {
		t.Errorf("perhaps as slow before: %s: %s", v.Outcome, v.Seen)
	}
}
