package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// The manifests that were tried: what the API server said to each of them in a record where all is well.
var (
	goodOne = history.Admission{Kind: "Deployment", Name: "hard", Accepted: true}
	badOne  = history.Admission{Kind: "StatefulSet", Name: "none", Against: "zones", By: "zones", Message: "zones denied it"}
)

// enforced is a record of a fault that begins at 11 s, is seen at 40 s, and whose undo lasts from 41 s to 49 s. In between, a
// good manifest and a bad one were tried, and others.
func enforced(others ...history.Admission) *ht.Builder {
	b := newStepped().to("w1", "w2").Builder.Admission(40100*ms, goodOne).Admission(40200*ms, badOne)
	for i, a := range others {
		b.Admission(40300*ms+history.Offset(i)*ms, a)
	}
	return b
}

// but is an answer that says something else.
func but(a history.Admission, change func(*history.Admission)) history.Admission {
	change(&a)
	return a
}

func TestPolicyEnforced(t *testing.T) {
	promise := invariant.PolicyEnforced{}
	spared := but(badOne, func(a *history.Admission) { a.Name, a.Accepted, a.By, a.Message = "soft", true, "", "" })
	harmed := but(goodOne, func(a *history.Admission) {
		a.Name, a.Accepted, a.By, a.Message = "plain", false, "zones", "zones denied it"
	})
	byAnother := func(a *history.Admission) { a.Accepted, a.By, a.Message = false, "quota", "quota denied it" }
	only := func(bad bool) *ht.Builder {
		return enforced().DropEvents(func(e history.Event) bool { return e.Admission != nil && (e.Admission.Against != "") != bad })
	}

	checkAll(t, []sample{
		{"held", enforced(), promise, verdict.Held, 0},
		{"held, with more", enforced(goodOne, badOne, badOne), promise, verdict.Held, 0},
		{"two policies", enforced(but(badOne, func(a *history.Admission) { a.Against, a.By = "budgets", "budgets" })), promise, verdict.Held, 0},
		{"a bad one was accepted", enforced(spared), promise, verdict.Violated, 40300 * ms},
		{"a good one was refused", enforced(harmed, spared), promise, verdict.Violated, 40300 * ms},
		{"a bad one was refused by another", enforced(but(badOne, byAnother)), promise, verdict.Unknown, 0},
		{"a good one was refused by another", enforced(but(goodOne, byAnother)), promise, verdict.Unknown, 0},
		{"no bad one", only(false), promise, verdict.Unknown, 0},
		{"no good one", only(true), promise, verdict.Unknown, 0},
		{"before it was seen, and after its revert began", enforced().Admission(39*second, spared).Admission(41*second, spared), promise, verdict.Held, 0},
		{"nothing was tried", newStepped().to("w1", "w2").Builder, promise, verdict.Unknown, 0},
		{"the fault was not seen", setStage(enforced(), history.Seen, -1), promise, verdict.Unknown, 0},
		{"never undone", setStage(enforced(), history.Healed, -1), promise, verdict.Unknown, 0},
	})
	v := judge.Check(enforced(spared).Run(), promise)
	lines(t, v)
	numbers(t, v, map[string]float64{"refused": 1, "accepted": 1, "wrong": 1})
	lines(t, judge.Check(enforced().Run(), promise))
}
