package invariant

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/budget"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// BudgetHonoured promises that no eviction was accepted that took the healthy pods below what a disruption budget demands. Budgets
// bind evictions only: a lost node, a rollout, a scale-down or a direct deletion never breaks the promise.
//
// The eviction of an unready pod does not reduce the healthy pods. But a budget with the policy IfHealthyBudget must refuse it
// while fewer pods are healthy than it demands. The verdict's numbers count the pods that left in other ways than by eviction.
//
// An eviction counts as a violation only if no order of the events within WatchSkew makes it legal. If only the order of the record
// makes it illegal, there is no verdict.
//
// In a recording the evictions are other clients', of which only the accepted ones show, by the conditions of the pods. If nobody
// evicted a pod under a budget, or no eviction came to the limit of its budget, the budgets were not tested.
//
// Evidence: a budget, and at least one attempt to evict one of its pods. Each budget with such an attempt was put to the test: it
// refused an eviction while its status allowed none; or an accepted eviction left exactly as many healthy pods as it demands, and
// its status then allowed no more.
type BudgetHonoured struct {
	// Budget is the name of the budget to judge; empty means every budget.
	Budget string `json:"budget,omitempty"`
	// MustRefuse needs an eviction that the budget refused while its status allowed none.
	MustRefuse bool `json:"mustRefuse,omitempty"`
	// AtLeast is how many healthy pods of Workload an accepted eviction must leave even without a budget, so that a workload
	// without a budget can be caught. Zero leaves the demand to the budgets.
	AtLeast int `json:"atLeast,omitempty"`
	// Workload is the Deployment that AtLeast is about; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
}

func (p BudgetHonoured) String() string {
	text := "no eviction takes the healthy pods below what any budget demands"
	if p.Budget != "" {
		text = "no eviction takes the healthy pods below what budget " + p.Budget + " demands"
	}
	if p.AtLeast > 0 {
		text += fmt.Sprintf(", nor below %d", p.AtLeast)
	}
	if p.MustRefuse {
		text += "; one is refused"
	}
	return text
}

// Needs implements Invariant.
func (p BudgetHonoured) Needs() evidence.Needs {
	needs := evidence.Needs{Watches: evidence.Ordered, Parts: []evidence.Part{evidence.PartEvictions, evidence.PartPods}}
	if p.AtLeast == 0 {
		needs.Parts = append(needs.Parts, evidence.PartBudgets)
	}
	return needs
}

// Judge implements EventInvariant.
func (p BudgetHonoured) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	l := budget.Ledger{Facts: f, Pods: f.Timeline().Pods}
	l.Demands = budget.Demands(f.Record, func(key history.Key) bool { return p.Budget == "" || key.Name == p.Budget })
	switch {
	case len(l.Demands) > 0:
	case f.Record.Header.Recorded != nil && p.Budget == "" && p.AtLeast == 0 && len(missing) == 0:
		return verdict.Verdict{}.NotTested("no pod under a budget was evicted: there was no budget")
	case p.Budget != "":
		missing.Add("the record has no budget %s", p.Budget)
	case p.AtLeast == 0:
		missing.Add("the record has no budget")
	}
	if p.AtLeast > 0 {
		missing = append(missing, l.DemandOf(f.Record, p.Workload, p.AtLeast)...)
	}
	for _, demand := range l.Demands {
		if demand.Broken != "" {
			missing.Add("%s cannot be judged: %s", demand.Words, demand.Broken)
		}
	}
	l.WeighAll(f.Record)
	v := p.verdict(&l, missing)
	l.Timeline(&v)
	return v
}

func (p BudgetHonoured) verdict(l *budget.Ledger, missing verdict.Missing) verdict.Verdict {
	v := verdict.Verdict{}
	v.Measure("accepted", float64(l.Accepted))
	v.Measure("refused", float64(l.Refused))
	v.Measure("ambiguous", float64(len(l.Open)))
	v.Measure("refusedUnderSeveralBudgets", float64(l.UnderSeveral))
	if l.Accepted+l.Refused == 0 {
		if l.Facts.Record.Header.Recorded != nil && len(missing) == 0 {
			return v.NotTested("no pod under a budget was evicted")
		}
		missing.Add("no eviction of a pod under a budget was asked for")
	}
	if p.MustRefuse && l.Blocked == 0 {
		missing.Add("no eviction was refused by a budget that allowed no disruption: %d accepted, %d refused", l.Accepted, l.Refused)
	}
	untested := l.Untested(&v)
	missing = slices.Concat(missing, l.Unknown, l.Unheard)
	recorded := l.Facts.Record.Header.Recorded != nil && len(missing) == 0 && len(l.Broken) == 0
	missing = append(missing, untested...)
	if l.Tightest != nil {
		v.Measure("leastHealthy", float64(l.Tightest.Healthy))
		v.Measure("leastHealthyDemanded", float64(l.Tightest.Desired))
		v.AtLeast("leastHealthy", float64(l.Tightest.Desired))
	}
	if len(l.Broken) > 0 {
		v.At = l.Broken[0].At
		for _, b := range l.Broken {
			v.Support(b.String())
		}
		return v.Violated(missing, "%s", l.Broken[0])
	}
	if l.Tightest != nil {
		v.Support("the tightest: " + l.Tightest.String())
	}
	v.Support(l.Tests...)
	v.Support(l.Refusals...)
	if recorded && len(untested) > 0 {
		return v.NotTested(untested[0])
	}
	return v.Held(missing, "%s accepted and %d refused; none took the healthy pods below what the budgets demand",
		prose.Count(l.Accepted, "eviction"), l.Refused)
}
