package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// needs6 is what the API says of a budget that demands all.
const needs6 = "The disruption budget backend needs 6 healthy pods and has 6 currently"

// blocked is the record of a drain of w1 that a budget of all replicas refused twelve times, from 17 s to 28 s.
func blocked() *ht.Builder {
	b := ht.Healthy().DropEvents(func(e history.Event) bool {
		return e.T >= ht.EvictedAt && (e.Eviction != nil || e.Pod != nil || e.Slice != nil || e.Workload != nil || e.Budget != nil)
	})
	allowing(demanding(b, "6", ""), 0)
	for at := 17 * second; at < 29*second; at += second {
		b.Eviction(at, history.Eviction{Pod: ht.Victim, Budget: "backend", Message: needs6})
	}
	return b
}

// allowing changes what all budgets' status says.
func allowing(b *ht.Builder, disruptions int) *ht.Builder {
	return b.EditEvents(func(e *history.Event) {
		if e.Budget != nil {
			e.Budget.DisruptionsAllowed = disruptions
		}
	})
}

func TestDrainBlocked(t *testing.T) {
	all, long := invariant.DrainBlocked{}, invariant.DrainBlocked{Budget: "backend", For: 11 * second}
	another := ht.BackendBudget(6, 0)
	another.Name = "another"

	checkAll(t, []sample{
		{"held", blocked(), all, verdict.Held, 0},
		{"held for long enough", blocked(), long, verdict.Held, 0},
		{"not for long enough", blocked(), invariant.DrainBlocked{For: 12 * second}, verdict.Unknown, 0},
		{"violated", evict(blocked(), 1, 20*second), long, verdict.Violated, 20 * second},
		{"another's eviction", evict(blocked(), 2, 20*second).DropEvents(func(e history.Event) bool {
			return e.Eviction != nil && e.Eviction.Accepted
		}), all, verdict.Violated, 20 * second},
		{"a drain that got through", ht.Healthy(), all, verdict.Violated, ht.EvictedAt},
		{"a pod that ended while a watch was blind", deleteDirectly(blocked(), 3).Gap("pods", 24*second, 26*second), all, verdict.Unknown, 0},
		{"evicted once the drain is undone", evict(blocked(), 1, 30*second), all, verdict.Held, 0},
		{"a pod of the system", blocked().Eviction(18*second, history.Eviction{Namespace: "kube-system", Pod: "coredns-1", Accepted: true}), all, verdict.Held, 0},
		{"refused by another", refuse(blocked(), 2, 20*second, "other"), all, verdict.Unknown, 0},
		{"refused although one was allowed", allowing(blocked(), 1), all, verdict.Unknown, 0},
		{"nothing was asked for", blocked().DropEvents(func(e history.Event) bool { return e.Eviction != nil }), all, verdict.Unknown, 0},
		{"no budget", noBudget(blocked()), all, verdict.Unknown, 0},
		{"no such budget", blocked(), invariant.DrainBlocked{Budget: "other"}, verdict.Unknown, 0},
		{"two budgets", blocked().Budget(4*second, another), all, verdict.Unknown, 0},
		{"one of two budgets", blocked().Budget(4*second, another), long, verdict.Held, 0},
		{"a budget that makes no sense", demanding(blocked(), "many", ""), all, verdict.Unknown, 0},
		{"never undone", setStage(blocked(), history.Healed, -1), all, verdict.Unknown, 0},
	})
	v := judge.Check(blocked().Run(), all)
	lines(t, v)
	numbers(t, v, map[string]float64{"refused": 12, "refusedSeconds": 11, "refusedPods": 1})
}
