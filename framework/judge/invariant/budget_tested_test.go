package invariant_test

import (
	"fmt"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// TestBudgetIsPutToTheTest: a budget that had nothing to refuse has shown nothing. A disruption controller that allows
// everything leaves the same record as one that does its work, but for what the budget's status says.
func TestBudgetIsPutToTheTest(t *testing.T) {
	all := invariant.BudgetHonoured{}
	untested := func(name string) string {
		return fmt.Sprintf("no verdict: budget %s was not tested: it refused no eviction when its status allowed none, and no eviction "+
			"that was accepted left as few healthy pods as it demands, with a status that allowed no more", name)
	}
	const oneHeld = "1 eviction accepted and 0 refused; none took the healthy pods below what the budgets demand"
	other := func(min string, allowed int) history.Budget {
		b := ht.BackendBudget(6, allowed)
		b.Name, b.MinAvailable, b.MaxUnavailable = "other", min, ""
		return b
	}
	checkAll(t, []sample{
		{"one more would have broken it, and it allowed none", ht.Healthy(), all, verdict.Held, 0, oneHeld},
		{"a controller that allows everything", allowing(ht.Healthy(), 6), all, verdict.Unknown, 0, untested("backend")},
		{"a controller that allows everything, and is asked for more", allowing(evict(ht.Healthy(), 2, 17500*ms), 6), all, verdict.Violated, 17500 * ms,
			"the eviction of backend-2, accepted at 17.5s, left 4 healthy pods, and budget backend demands 5 (maxUnavailable 1 of 6)"},
		{"one more would have been allowed", demanding(ht.Healthy(), "", "2"), all, verdict.Unknown, 0, untested("backend")},
		{"a percentage that leaves one more", demanding(ht.Healthy(), "60%", ""), all, verdict.Unknown, 0, untested("backend")},
		{"a percentage that leaves none", demanding(ht.Healthy(), "70%", ""), all, verdict.Held, 0, oneHeld},
		{"a percentage that demands nothing", demanding(ht.Healthy(), "", "100%"), all, verdict.Unknown, 0,
			"no verdict: no budget was tested: none demanded a pod when evictions were asked for"},
		{"it refused one when it allowed none", refuse(demanding(ht.Healthy(), "", "2"), 2, 18*second, "backend"), all, verdict.Held, 0,
			"1 eviction accepted and 1 refused; none took the healthy pods below what the budgets demand"},
		{"it refused one when it allowed some", refuse(demanding(allowing(ht.Healthy(), 1), "", "2"), 2, 18*second, "backend"), all, verdict.Unknown, 0, untested("backend")},
		{"of two budgets, one had nothing to refuse", ht.Healthy().Budget(3*second, other("2", 4)), all, verdict.Unknown, 0, untested("other")},
		{"of two budgets, the one that is meant", ht.Healthy().Budget(3*second, other("2", 4)), invariant.BudgetHonoured{Budget: "backend"}, verdict.Held, 0, oneHeld},
		{"of two budgets, both allowed none", ht.Healthy().Budget(3*second, other("5", 0)), all, verdict.Held, 0, oneHeld},
		{"its own demand has no status", noBudget(ht.Healthy()), invariant.BudgetHonoured{AtLeast: 5}, verdict.Held, 0, oneHeld},
		{"its own demand, with room for more", noBudget(ht.Healthy()), invariant.BudgetHonoured{AtLeast: 3}, verdict.Unknown, 0,
			"no verdict: the promise was not tested: no eviction that was accepted left as few healthy pods as it demands"},
		{"its own demand, with room for more, beside a budget that was tested", ht.Healthy(), invariant.BudgetHonoured{AtLeast: 3}, verdict.Held, 0, oneHeld},
	})
}
