package invariant_test

// Corners of the rules in which a mistake made on purpose was not noticed by any other test.

import (
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// TestReplicasThatABudgetCounts: percentages are of what the Deployments of the budget's own pods want, together, and of
// no other's; a budget whose pods belong to none goes by its status.
func TestReplicasThatABudgetCounts(t *testing.T) {
	other := func(namespace, app string, replicas int) *ht.Builder {
		w := ht.BackendWorkload(replicas, replicas)
		w.Namespace, w.Name, w.Replicas = namespace, "other", replicas
		w.Selector = map[string]string{"app.kubernetes.io/name": app}
		return demanding(evict(ht.Healthy(), 2, 17500*ms), "67%", "").Workload(3*second, w)
	}

	none := demanding(evict(ht.Healthy(), 2, 17500*ms), "67%", "").EditEvents(func(e *history.Event) {
		if e.Workload != nil {
			e.Workload.Selector = map[string]string{}
		}
		if e.Budget != nil {
			e.Budget.ExpectedPods = 10
		}
	})
	checkAll(t, []sample{
		{"of another namespace", other("elsewhere", "backend", 4), invariant.BudgetHonoured{}, verdict.Violated, 17500 * ms},
		{"of other pods", other("", "gateway", 4), invariant.BudgetHonoured{}, verdict.Violated, 17500 * ms},
		{"of the same pods", other("", "backend", 4), invariant.BudgetHonoured{}, verdict.Violated, ht.EvictedAt},
		{"by the budget's status", none, invariant.BudgetHonoured{}, verdict.Violated, ht.EvictedAt},
	})
}

// TestTheLastWindowOfLoad is longer than the others, by what is left, and all of it needs load.
func TestTheLastWindowOfLoad(t *testing.T) {
	until := func(drained history.Offset) *ht.Builder {
		return ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Phase != nil && e.Phase.Name == history.Drained {
				e.T = drained
			}
		})
	}

	checkAll(t, []sample{
		{"load to the end", until(40*second + 10*ms), invariant.NoFailedRequests{}, verdict.Held, 0},
		{"nearly a second without", until(40900 * ms), invariant.NoFailedRequests{}, verdict.Unknown, 0},
		{"unsent at the end", until(40900*ms).Load(history.LaneFresh, ht.Rate, 40*second, 40900*ms).Load(history.LaneReused, ht.Rate, 40*second, 40900*ms).
			Fail(history.LaneFresh, 40500*ms, 40900*ms, history.Unsent), invariant.NoFailedRequests{}, verdict.Unknown, 0},
	})
}

// TestANodeThatIsHeardOfBeforeItIsTaken is not back yet: kubelets say that all is well until they die.
func TestANodeThatIsHeardOfBeforeItIsTaken(t *testing.T) {
	alive := ht.ReadyNode("w3", "b")
	run := killed().Node(killAt+100*ms, alive).Node(healAt, alive).Node(healAt+100*ms, alive).Run() // or when it is given back
	if v := judge.Check(run, (invariant.NoFailedRequests{})); v.Outcome != verdict.Held {
		t.Errorf("%s: %s", v.Outcome, v.Seen)
	}
}

// TestMomentsOfTwoFaults: failures are laid to the last stage of either.
func TestMomentsOfTwoFaults(t *testing.T) {
	b := another(killed(), 15700*ms, 20*second, 25*second, 31*second)
	for _, at := range []history.Offset{15600 * ms, 15800 * ms, 17 * second, 22 * second, 26 * second, 31500 * ms} {
		b.Fail(history.LaneFresh, at, at+5*ms, history.Reset)
	}
	v := judge.Check(nameless(b, func(r history.Request) bool { return r.Outcome.Failed() }).Run(), invariant.NoFailedRequests{})
	want := []string{
		"1 after kill one worker began at 15.5s, the first 100ms later",
		"1 after kill another began at 15.7s, the first 100ms later",
		"1 after kill one worker was seen to take effect at 16s, the first 1s later",
		"1 after kill another was seen to take effect at 20s, the first 2s later",
		"1 after kill another began to be reverted at 25s, the first 1s later",
		"1 after kill another was healed at 31s, the first 500ms later",
	}
	if len(v.Evidence) < len(want) || !slices.Equal(v.Evidence[len(v.Evidence)-len(want):], want) {
		t.Errorf("%q\nwant at the end %q", v.Evidence, want)
	}
}

// TestTheDemandOfTheMoment: a budget that was changed demands what it does at the time, give or take the skew.
func TestTheDemandOfTheMoment(t *testing.T) {
	changed := func(at history.Offset, before, after string) *ht.Builder {
		b := demanding(evict(ht.Healthy(), 2, 17500*ms), after, "").EditEvents(func(e *history.Event) {
			if e.Budget != nil && e.T < at {
				e.Budget.MinAvailable = before
			}
		})
		budget := ht.BackendBudget(6, 1)
		budget.MinAvailable, budget.MaxUnavailable = after, ""
		return b.Budget(at, budget)
	}

	checkAll(t, []sample{
		{"raised long before", changed(10*second, "3", "5"), invariant.BudgetHonoured{}, verdict.Violated, 17500 * ms},
		{"raised within the skew", changed(16600*ms, "3", "5"), invariant.BudgetHonoured{}, verdict.Unknown, 0},
		{"lowered within the skew", changed(18400*ms, "5", "3"), invariant.BudgetHonoured{}, verdict.Unknown, 0},
		{"lowered long after", changed(21*second, "5", "3"), invariant.BudgetHonoured{}, verdict.Violated, 17500 * ms},
		{"demanded long after", noBudget(evict(ht.Healthy(), 2, 17500*ms)).Budget(25*second, ht.BackendBudget(6, 1)), invariant.BudgetHonoured{}, verdict.Unknown, 0},
	})
}

// TestTheEndOfRecovered belongs to what comes after: what happens then is no longer judged.
func TestTheEndOfRecovered(t *testing.T) {
	at := func(at history.Offset) *ht.Builder { return ht.Healthy().Workload(at, ht.BackendWorkload(5, 6)) }
	checkAll(t, []sample{
		{"just before", at(ht.DrainedAt - 1), invariant.RecoversWithin{Limit: 5 * second}, verdict.Violated, 35 * second},
		{"at the end", at(ht.DrainedAt), invariant.RecoversWithin{Limit: 5 * second}, verdict.Held, 0},
	})
}

// TestTheLongestOutageIsTold, of whichever lane it was.
func TestTheLongestOutageIsTold(t *testing.T) {
	b := failVictims(failVictims(killed(), history.LaneFresh, 16*second, 17*second), history.LaneReused, 16*second, 20*second)
	v := check(t, b.Run(), invariant.FailuresEndWithin{}, verdict.Held, 0)
	numbers(t, v, map[string]float64{"measuredSeconds": 3.988, "failed": 166})
}

// TestEvidenceOfFailuresThatEndTooLate: each way of breaking the promise tells of the failures that broke it, and of no
// others.
func TestEvidenceOfFailuresThatEndTooLate(t *testing.T) {
	outage := func() *ht.Builder { return failVictims(killed(), history.LaneFresh, 15600*ms, noticedAt) }
	for name, s := range map[string]*ht.Builder{
		"late": outage().Fail(history.LaneReused, 26*second, 26005*ms, history.Reset),
		"at an innocent pod": outage().EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneReused && r.Seq == 1401 {
				r.Outcome, r.Status = history.BadStatus, 500
			}
		}),
		"too many": behindAService(killed()).EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneFresh && r.Due >= 16*second && r.Due < 16500*ms {
				r.Outcome, r.Pod, r.Node = history.Refused, "", ""
			}
		}),
	} {
		t.Run(name, func(t *testing.T) { lines(t, judge.Check(s.Run(), invariant.FailuresEndWithin{})) })
	}
}
