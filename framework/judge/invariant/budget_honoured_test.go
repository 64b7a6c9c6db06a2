package invariant_test

import (
	"fmt"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// evict has the eviction of backend-n accepted, and the pod begin to go at the same moment.
func evict(b *ht.Builder, n int, at history.Offset) *ht.Builder {
	name := fmt.Sprintf("backend-%d", n)
	p := ht.ReadyPod(name, fmt.Sprintf("w%d", n), history.Modified)
	p.Deleting, p.Disruption = true, "EvictionByEvictionAPI"
	return b.Eviction(at, history.Eviction{Pod: name, Accepted: true}).Pod(at, p)
}

// refuse has the eviction of backend-n refused by a budget.
func refuse(b *ht.Builder, n int, at history.Offset, budget string) *ht.Builder {
	return b.Eviction(at, history.Eviction{
		Pod: fmt.Sprintf("backend-%d", n), Budget: budget, Message: "The disruption budget needs 5 healthy pods",
	})
}

// unsaid is evict, and the pod's end is not told.
func unsaid(b *ht.Builder, n int, at history.Offset) *ht.Builder {
	return b.Eviction(at, history.Eviction{Pod: fmt.Sprintf("backend-%d", n), Accepted: true})
}

// allowsNone has the budget's status say from 13.1 s on that no eviction is allowed.
func allowsNone(b *ht.Builder) *ht.Builder {
	return b.DropEvents(func(e history.Event) bool { return e.Budget != nil && e.T > 13*second }).Budget(13100*ms, ht.BackendBudget(4, 0))
}

// unready has backend-n lose its readiness.
func unready(b *ht.Builder, n int, at history.Offset) *ht.Builder {
	p := ht.ReadyPod(fmt.Sprintf("backend-%d", n), fmt.Sprintf("w%d", n), history.Modified)
	p.Ready = false
	return b.Pod(at, p)
}

// demanding changes what the budget demands.
func demanding(b *ht.Builder, minAvailable, maxUnavailable string) *ht.Builder {
	return b.EditEvents(func(e *history.Event) {
		if e.Budget != nil {
			e.Budget.MinAvailable, e.Budget.MaxUnavailable = minAvailable, maxUnavailable
		}
	})
}

func noBudget(b *ht.Builder) *ht.Builder {
	return b.DropEvents(func(e history.Event) bool { return e.Budget != nil })
}

func TestBudgetHonoured(t *testing.T) {
	all := invariant.BudgetHonoured{}
	refused := invariant.BudgetHonoured{Budget: "backend", MustRefuse: true}
	own := invariant.BudgetHonoured{AtLeast: 5}
	noEviction := func() *ht.Builder {
		return ht.Healthy().DropEvents(func(e history.Event) bool { return e.Eviction != nil })
	}
	threeUnready := func() *ht.Builder { // of seven
		return allowsNone(unready(unready(unready(noEviction().DropEvents(isVictim), 2, 13*second), 3, 13*second), 4, 13*second))
	}

	checkAll(t, []sample{
		{"held", ht.Healthy(), all, verdict.Held, 0},
		{"held by name", ht.Healthy(), invariant.BudgetHonoured{Budget: "backend"}, verdict.Held, 0},
		{"violated", evict(ht.Healthy(), 2, 17500*ms), all, verdict.Violated, 17500 * ms},
		{"two at the same moment", evict(ht.Healthy(), 2, ht.EvictedAt), all, verdict.Violated, ht.EvictedAt},
		{"percentages round up", demanding(evict(ht.Healthy(), 2, 17500*ms), "", "17%"), all, verdict.Held, 0},
		{"minAvailable in percent", demanding(evict(ht.Healthy(), 2, 17500*ms), "67%", ""), all, verdict.Violated, 17500 * ms},
		{"minAvailable", demanding(evict(ht.Healthy(), 2, 17500*ms), "4", ""), all, verdict.Held, 0},
		{"an eviction that the pod alone tells of", evict(ht.Healthy(), 2, 17500*ms).
			DropEvents(func(e history.Event) bool { return e.Eviction != nil }), all, verdict.Violated, 17500 * ms},
		{"the replacement became ready just after, as the watch of pods told", evict(ht.Healthy(), 2, 18500*ms), all, verdict.Violated, 18500 * ms},
		{"the replacement became ready just after, and when the pod began to go is not told", unsaid(ht.Healthy(), 2, 18500*ms), all, verdict.Unknown, 0},
		{"the replacement became ready just before, as the watch of pods told, whenever the answer came", evict(ht.Healthy(), 2, ht.ReplacedAt+ms).
			EditEvents(func(e *history.Event) {
				if e.Eviction != nil && e.Eviction.Pod == "backend-2" {
					e.T = ht.ReplacedAt - 400*ms
				}
			}), all, verdict.Held, 0},
		{"the replacement became ready just after, and the answer came later still", evict(ht.Healthy(), 2, ht.ReplacedAt-ms).
			EditEvents(func(e *history.Event) {
				if e.Eviction != nil && e.Eviction.Pod == "backend-2" {
					e.T = ht.ReplacedAt + 400*ms
				}
			}), all, verdict.Violated, ht.ReplacedAt + 400*ms},
		{"others had failed long before", evict(unready(unready(noEviction().DropEvents(isVictim), 3, 13*second), 4, 13*second), 2, 20*second), all,
			verdict.Violated, 20 * second},
		{"another failed at about the same time", evict(unready(unready(noEviction().DropEvents(isVictim), 3, 13*second), 4, 19500*ms), 2, 20*second), all,
			verdict.Unknown, 0},
		{"others had failed before the first", evict(unready(unready(ht.Healthy(), 2, 13*second), 3, 13*second), 2, 26*second), all, verdict.Violated, ht.EvictedAt},
		{"only a pod that was not healthy", evict(allowsNone(unready(unready(noEviction().DropEvents(isVictim), 2, 13*second), 3, 13*second)), 2, 26*second),
			all, verdict.Held, 0},
		{"a pod that was not healthy, which the budget guards all the same", guarding("IfHealthyBudget", evict(threeUnready(), 2, 26*second)), all, verdict.Violated, 26 * second},
		{"a pod that was not healthy, and as many were as it demands", guarding("IfHealthyBudget", evict(allowsNone(unready(unready(
			noEviction().DropEvents(isVictim), 2, 13*second), 3, 13*second)), 2, 26*second)), all, verdict.Held, 0},
		{"a pod that was not healthy, which the budget does not guard", guarding("AlwaysAllow", evict(threeUnready(), 2, 26*second)), all, verdict.Held, 0},
		{"a pod that was healthy again just before, which the budget guards either way", guarding("IfHealthyBudget", evict(ready(threeUnready(), 2, 25500*ms), 2, 26*second)),
			all, verdict.Violated, 26 * second},
		{"a pod that was healthy again just before, which the budget does not guard", guarding("AlwaysAllow", evict(ready(threeUnready(), 2, 25500*ms), 2, 26*second)),
			all, verdict.Violated, 26 * second},
		{"a pod that was no longer healthy just before, which the budget does not guard", guarding("AlwaysAllow", evict(unready(ready(threeUnready(), 2, 24*second), 2, 25500*ms), 2, 26*second)),
			all, verdict.Unknown, 0},
		{"a pod that has never run, for which no budget is asked", pending(guarding("IfHealthyBudget", evict(threeUnready(), 2, 26*second))), all, verdict.Held, 0},
		{"evicted again while it goes", ht.Healthy().Eviction(18*second, history.Eviction{Pod: ht.Victim, Accepted: true}), all, verdict.Held, 0},
		{"direct deletes do not count", deleteDirectly(ht.Healthy(), 2, 3, 4), all, verdict.Held, 0},
		{"a pod of another namespace", ht.Healthy().Eviction(18*second, history.Eviction{Namespace: "kube-system", Pod: "coredns-1", Accepted: true}), all, verdict.Held, 0},
		{"a budget that was deleted demands nothing", evict(evict(ht.Healthy().Budget(23*second, deleted(ht.BackendBudget(6, 1))),
			2, 25*second), 3, 25*second), all, verdict.Held, 0},

		{"refused when none was allowed", refuse(ht.Healthy(), 2, 18*second, "backend"), refused, verdict.Held, 0},
		{"none refused", ht.Healthy(), refused, verdict.Unknown, 0},
		{"refused although one was allowed", refuse(ht.Healthy(), 2, 25*second, "backend"), refused, verdict.Unknown, 0},
		{"refused for another reason", refuse(ht.Healthy(), 2, 18*second, ""), refused, verdict.Unknown, 0},

		{"a status that is not of what is asked for now", evict(ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Budget != nil {
				e.Budget.Observed, e.Budget.CurrentHealthy, e.Budget.DesiredHealthy, e.Budget.DisruptionsAllowed = false, 6, 3, 3
			}
		}), 2, 17500*ms), all, verdict.Violated, 17500 * ms},
		{"refused because there are several budgets", severalBudgets(), all, verdict.Held, 0},
		{"refused because there are several, which is not what was meant", severalBudgets(), refused, verdict.Unknown, 0},

		{"its own demand, without a budget", evict(noBudget(ht.Healthy()), 2, 17500*ms), own, verdict.Violated, 17500 * ms},
		{"its own demand, kept", noBudget(ht.Healthy()), own, verdict.Held, 0},
		{"its own demand, of a workload that is not there", ht.Healthy(), invariant.BudgetHonoured{AtLeast: 5, Workload: "other"}, verdict.Unknown, 0},

		{"no budget", noBudget(ht.Healthy()), all, verdict.Unknown, 0},
		{"no such budget", ht.Healthy(), invariant.BudgetHonoured{Budget: "other"}, verdict.Unknown, 0},
		{"no eviction", noEviction().DropEvents(isVictim), all, verdict.Unknown, 0},
		{"an eviction of nobody", ht.Healthy().Eviction(18*second, history.Eviction{Pod: "backend-9", Accepted: true}), all, verdict.Unknown, 0},
		{"a budget with expressions", ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Budget != nil {
				e.Budget.Selector = nil
			}
		}), all, verdict.Unknown, 0},
		{"a budget that makes no sense", demanding(ht.Healthy(), "many", ""), all, verdict.Unknown, 0},
		{"a gap", ht.Healthy().Gap("poddisruptionbudgets", 18*second, 19*second), all, verdict.Unknown, 0},
		{"violated in a record that was cut off", evict(ht.Healthy(), 2, 17500*ms).Incomplete("cut off"), all, verdict.Violated, 17500 * ms},
	})
}

func TestBudgetHonouredEvidence(t *testing.T) {
	v := judge.Check(refuse(ht.Healthy(), 3, 18*second, "backend").Run(), invariant.BudgetHonoured{})
	lines(t, v)
	numbers(t, v, map[string]float64{"accepted": 1, "refused": 1, "ambiguous": 0, "leastHealthy": 5, "leastHealthyDemanded": 5, "testedBudgets": 1, "untestedBudgets": 0})
}

// TestBudgetTimeline: what budgets do not bind is told all the same: for how long too few were healthy, by what, and for how
// long the status of the budget said something else.
func TestBudgetTimeline(t *testing.T) {
	v := judge.Check(ht.Healthy().Run(), invariant.BudgetHonoured{})
	numbers(t, v, map[string]float64{"belowDemandSeconds": 0, "staleStatusSeconds": 0, "gone.eviction": 1})
	lost := deleteDirectly(ht.Healthy(), 2, 3) // at 25 s, and nobody replaces them until Drained at 40 s
	v = judge.Check(lost.Run(), invariant.BudgetHonoured{})
	numbers(t, v, map[string]float64{"belowDemandSeconds": 15, "staleStatusSeconds": 15, "gone.eviction": 1, "gone.deletion": 2})
	brief := ht.Healthy().Budget(25*second, ht.BackendBudget(4, 0)).Budget(26*second, ht.BackendBudget(6, 1)) // as long as the skew
	numbers(t, judge.Check(brief.Run(), invariant.BudgetHonoured{}), map[string]float64{"staleStatusSeconds": 0})
	late := ht.Healthy().Budget(25*second, ht.BackendBudget(4, 0)).Budget(26001*ms, ht.BackendBudget(6, 1))
	numbers(t, judge.Check(late.Run(), invariant.BudgetHonoured{}), map[string]float64{"staleStatusSeconds": 1.001})
}

func TestSeveralBudgetsEvidence(t *testing.T) {
	v := judge.Check(severalBudgets().Run(), invariant.BudgetHonoured{})
	numbers(t, v, map[string]float64{"accepted": 1, "refused": 1, "refusedUnderSeveralBudgets": 1})
	lines(t, v)
}

// severalBudgets has a second budget come after the eviction, and an eviction refused for that.
func severalBudgets() *ht.Builder {
	other := ht.BackendBudget(6, 3)
	other.Name, other.MaxUnavailable = "another", "3"
	return ht.Healthy().Budget(17900*ms, other).Eviction(18*second, history.Eviction{
		Pod: "backend-2", Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
	})
}

// guarding has the budget say what becomes of pods that are not ready.
func guarding(policy string, b *ht.Builder) *ht.Builder {
	return b.EditEvents(func(e *history.Event) {
		if e.Budget != nil {
			e.Budget.UnhealthyPodEvictionPolicy = policy
		}
	})
}

// ready has backend-n be ready again.
func ready(b *ht.Builder, n int, at history.Offset) *ht.Builder {
	return b.Pod(at, ht.ReadyPod(fmt.Sprintf("backend-%d", n), fmt.Sprintf("w%d", n), history.Modified))
}

// pending has pods that are not ready not have run yet.
func pending(b *ht.Builder) *ht.Builder {
	return b.EditEvents(func(e *history.Event) {
		if e.Pod != nil && !e.Pod.Ready {
			e.Pod.Phase = "Pending"
		}
	})
}

func isVictim(e history.Event) bool {
	return e.Pod != nil && e.Pod.Name == ht.Victim && e.Pod.Change != history.Listed
}

func deleted(b history.Budget) history.Budget {
	b.Change = history.Deleted
	return b
}

// deleteDirectly has pods begin to go as a delete, a scale-down or a rollout makes them.
func deleteDirectly(b *ht.Builder, numbers ...int) *ht.Builder {
	for _, n := range numbers {
		p := ht.ReadyPod(fmt.Sprintf("backend-%d", n), fmt.Sprintf("w%d", n), history.Modified)
		p.Deleting = true
		b.Pod(25*second, p)
	}
	return b
}
