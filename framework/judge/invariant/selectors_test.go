package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// TestSelectorsOfMoreThanLabels: of a budget or a Deployment that asks for more than labels, the labels choose more pods than
// are its own: a budget would look as if it had more healthy pods than it has. So nothing is judged by them.
func TestSelectorsOfMoreThanLabels(t *testing.T) {
	const more = "app=a,track notin (canary)"
	budgets := func(b *ht.Builder) *ht.Builder {
		return b.EditEvents(func(e *history.Event) {
			if e.Budget != nil {
				e.Budget.SelectsBy = more
			}
		})
	}
	workloads := func(b *ht.Builder) *ht.Builder {
		return b.EditEvents(func(e *history.Event) {
			if e.Workload != nil {
				e.Workload.SelectsBy = more
			}
		})
	}

	zones := invariant.Spread{TopologyKey: ht.ZoneLabel, Max: 1}
	checkAll(t, []sample{
		{"a budget", budgets(ht.Healthy()), invariant.BudgetHonoured{}, verdict.Unknown, 0},
		{"a budget of a Deployment", workloads(ht.Healthy()), invariant.BudgetHonoured{}, verdict.Unknown, 0},
		{"a Deployment's recovery", workloads(ht.Healthy()), invariant.RecoversWithin{Limit: 30 * second}, verdict.Unknown, 0},
		{"a Deployment's spread", workloads(newStepped().to("w1", "w3", "w5").Builder), zones, verdict.Unknown, 0},
		{"a Deployment's spread, which looks bad", workloads(newStepped().to("w1", "w2", "w3").Builder), zones, verdict.Unknown, 0},
		{"a Deployment among trials", workloads(inTrials(even(), uneven())), invariant.SpreadTrials{TopologyKey: ht.ZoneLabel, Max: 1}, verdict.Unknown, 0},
	})
}
