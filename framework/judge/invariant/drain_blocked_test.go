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
	const held = "budget backend refused 12 evictions of backend-1 from 17s to 28s, and none of its pods ended: " + needs6
	checkAll(t, []sample{
		{"held", blocked(), all, verdict.Held, 0, held},
		{"held for long enough", blocked(), long, verdict.Held, 0, held},
		{"not for long enough", blocked(), invariant.DrainBlocked{For: 12 * second}, verdict.Unknown, 0,
			"no verdict: budget backend refused evictions for 11s, and at least 12s is promised"},
		{"violated", evict(blocked(), 1, 20*second), long, verdict.Violated, 20 * second,
			"the eviction of backend-1 was accepted at 20s, but budget backend must block it"},
		{"another's eviction", evict(blocked(), 2, 20*second).DropEvents(func(e history.Event) bool {
			return e.Eviction != nil && e.Eviction.Accepted
		}), all, verdict.Violated, 20 * second, "backend-2 began to end at 20s, but budget backend must block it"},
		{"a drain that got through", ht.Healthy(), all, verdict.Violated, ht.EvictedAt,
			"the eviction of backend-1 was accepted at 17s, but budget backend must block it"},
		{"a pod that ended while a watch was blind", deleteDirectly(blocked(), 3).Gap("pods", 24*second, 26*second), all, verdict.Unknown, 0,
			"no verdict: the watch of pods had a gap from 24s to 26s: the watch broke off"},
		{"evicted once the drain is undone", evict(blocked(), 1, 30*second), all, verdict.Held, 0, held},
		{"a pod of the system", blocked().Eviction(18*second, history.Eviction{Namespace: "kube-system", Pod: "coredns-1", Accepted: true}),
			all, verdict.Held, 0, held},
		{"refused by another", refuse(blocked(), 2, 20*second, "other"), all, verdict.Unknown, 0,
			"no verdict: the eviction of backend-2 was refused at 20s, but not by budget backend: The disruption budget needs 5 healthy pods"},
		{"refused although one was allowed", allowing(blocked(), 1), all, verdict.Unknown, 0,
			"no verdict: budget backend refused no eviction while it allowed no disruption"},
		{"nothing was asked for", blocked().DropEvents(func(e history.Event) bool { return e.Eviction != nil }), all, verdict.Unknown, 0,
			"no verdict: budget backend refused no eviction while it allowed no disruption"},
		{"no budget", noBudget(blocked()), all, verdict.Unknown, 0, "no verdict: the record has no budget"},
		{"no such budget", blocked(), invariant.DrainBlocked{Budget: "other"}, verdict.Unknown, 0, "no verdict: the record has no budget other"},
		{"two budgets", blocked().Budget(4*second, another), all, verdict.Unknown, 0,
			"no verdict: the record has 2 budgets; the promise must name one"},
		{"one of two budgets", blocked().Budget(4*second, another), long, verdict.Held, 0, held},
		{"a budget that makes no sense", demanding(blocked(), "many", ""), all, verdict.Unknown, 0,
			`no verdict: budget backend cannot be judged: read "many": want a number or a percentage`},
		{"never undone", setStage(blocked(), history.Healed, -1), all, verdict.Unknown, 0,
			"no verdict: drain one worker was never seen to be reverted"},
	})
	v := judge.Check(blocked().Run(), all)
	lines(t, v, "the eviction of backend-1 was refused: "+needs6)
	numbers(t, v, map[string]float64{"refused": 12, "refusedSeconds": 11, "refusedPods": 1})
}
