package invariant_test

import (
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

	other := func(min string, allowed int) history.Budget {
		b := ht.BackendBudget(6, allowed)
		b.Name, b.MinAvailable, b.MaxUnavailable = "other", min, ""
		return b
	}
	checkAll(t, []sample{
		{"one more would have broken it, and it allowed none", ht.Healthy(), all, verdict.Held, 0},
		{"a controller that allows everything", allowing(ht.Healthy(), 6), all, verdict.Unknown, 0},
		{"a controller that allows everything, and is asked for more", allowing(evict(ht.Healthy(), 2, 17500*ms), 6), all, verdict.Violated, 17500 * ms},
		{"one more would have been allowed", demanding(ht.Healthy(), "", "2"), all, verdict.Unknown, 0},
		{"a percentage that leaves one more", demanding(ht.Healthy(), "60%", ""), all, verdict.Unknown, 0},
		{"a percentage that leaves none", demanding(ht.Healthy(), "70%", ""), all, verdict.Held, 0},
		{"a percentage that demands nothing", demanding(ht.Healthy(), "", "100%"), all, verdict.Unknown, 0},
		{"it refused one when it allowed none", refuse(demanding(ht.Healthy(), "", "2"), 2, 18*second, "backend"), all, verdict.Held, 0},
		{"it refused one when it allowed some", refuse(demanding(allowing(ht.Healthy(), 1), "", "2"), 2, 18*second, "backend"), all, verdict.Unknown, 0},
		{"of two budgets, one had nothing to refuse", ht.Healthy().Budget(3*second, other("2", 4)), all, verdict.Unknown, 0},
		{"of two budgets, the one that is meant", ht.Healthy().Budget(3*second, other("2", 4)), invariant.BudgetHonoured{Budget: "backend"}, verdict.Held, 0},
		{"of two budgets, both allowed none", ht.Healthy().Budget(3*second, other("5", 0)), all, verdict.Held, 0},
		{"its own demand has no status", noBudget(ht.Healthy()), invariant.BudgetHonoured{AtLeast: 5}, verdict.Held, 0},
		{"its own demand, with room for more", noBudget(ht.Healthy()), invariant.BudgetHonoured{AtLeast: 3}, verdict.Unknown, 0},
		{"its own demand, with room for more, beside a budget that was tested", ht.Healthy(), invariant.BudgetHonoured{AtLeast: 3}, verdict.Held, 0},
	})
}
