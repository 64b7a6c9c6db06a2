package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// TestLateNewsIsNoBlindness: of a gap that was bridged all is in the record, only later. Promises that this makes no easier to
// keep are held; of the others, and of what only looks broken because the news was late, nothing is known.
func TestLateNewsIsNoBlindness(t *testing.T) {
	bridge := func(b *ht.Builder) *ht.Builder {
		return b.EditEvents(func(e *history.Event) {
			if e.Gap != nil {
				e.Gap.Bridged = true
			}
		})
	}
	gap := func(b *ht.Builder, from, to history.Offset) *ht.Builder { return bridge(b.Gap("pods", from, to)) }

	all := kept()
	for kind, want := range map[string]verdict.Outcome{
		"NoFailedRequests": verdict.Held, "FewFailedRequests": verdict.Held, "AnswersWithin": verdict.Held, "Spread": verdict.Held, "SpreadWithin": verdict.Held,
		"RecoversWithin": verdict.Held, "Resumes": verdict.Held, "Placement": verdict.Held,
		"QuietWithin": verdict.Unknown, "ReplacedWithin": verdict.Unknown, "PressureLeaves": verdict.Unknown,
		"BudgetHonoured": verdict.Unknown, "FailuresEndWithin": verdict.Unknown, // how many were there, at the moment that counts, is not known
	} {
		b := all[kind].run()
		end := b.Run().Events
		if v := all[kind].judge(gap(b, 3*second, end[len(end)-1].T-ms)); v.Outcome != want {
			t.Errorf("%s is %s: %s %q", kind, v.Outcome, v.Seen, v.Evidence)
		}
	}

	tooMany := func() *ht.Builder { return evict(ht.Healthy(), 2, 17500*ms) }
	recovers := func(limit history.Offset) invariant.Invariant { return invariant.RecoversWithin{Limit: limit} }
	checkAll(t, []sample{
		{"an eviction long before", gap(ht.Healthy(), 40*second, 41*second), invariant.BudgetHonoured{}, verdict.Held, 0},
		{"one too many, as far as was told", gap(tooMany(), 16500*ms, 18*second), invariant.BudgetHonoured{}, verdict.Unknown, 0},
		{"recovered late, as far as was told", gap(killed(), 30100*ms, 31500*ms), recovers(second), verdict.Unknown, 0},
		{"recovered in time, though told late", gap(killed(), 30100*ms, 30500*ms), recovers(2 * second), verdict.Held, 0},
	})
}

// TestAnEchoThatIsLateForAReason: an API server that was slow to take a change, or a watch that had broken off and was taken up
// again, is no watch that fell behind.
func TestAnEchoThatIsLateForAReason(t *testing.T) {
	echo := func(taken history.Offset) *ht.Builder {
		return ht.Healthy().Event(history.Event{T: 25 * second, Echo: &history.Echo{Sent: 20 * second, Taken: taken}})
	}
	bridged := func(what string, from, to history.Offset) *ht.Builder {
		return echo(ms).Event(history.Event{T: to, Gap: &history.Gap{What: what, Since: from, Why: "it broke", Bridged: true}})
	}
	for name, test := range map[string]struct {
		run  *ht.Builder
		want verdict.Outcome
	}{
		"in a record that is older":   {echo(0), verdict.Unknown},
		"fell behind":                 {echo(ms), verdict.Unknown},
		"was taken late":              {echo(4500 * ms), verdict.Held},
		"came over a bridge":          {bridged("leases", 21*second, 24*second), verdict.Held},
		"a bridge of something else":  {bridged("pods", 21*second, 24*second), verdict.Unknown},
		"a bridge before it was sent": {bridged("leases", 10*second, 19*second), verdict.Unknown},
	} {
		if v := judge.Check(test.run.Run(), (invariant.NoFailedRequests{})); v.Outcome != test.want {
			t.Errorf("%s: %s: %s", name, v.Outcome, v.Seen)
		}
	}
}
