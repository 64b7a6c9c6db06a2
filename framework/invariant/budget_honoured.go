package invariant

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// BudgetHonoured promises that no eviction was accepted which took the healthy pods below what a budget demands.
// Budgets bind evictions only: a lost node, a rollout, a scale-down or a direct delete never breaks the promise.
//
// A pod that is not ready takes nothing away when it is evicted; but a budget with the policy IfHealthyBudget must refuse
// that, too, while fewer pods are healthy than it demands. What left the budgets' pods by other ways than evictions is told
// in the figures: see timeline.
//
// An eviction counts as a violation only if no order within watchSkew makes it legal. One that broke a demand by the order
// of the record, and need not have, leaves no verdict.
//
// Evidence: a budget, and an eviction of one of its pods that was at least asked for. Each budget under which one was asked for
// was put to the test: it refused one when its status allowed none; or an accepted one left no more healthy pods than it
// demands, so that one more would have broken it, and its status then allowed none.
type BudgetHonoured struct {
	// Budget names the one to judge; empty means every one.
	Budget string `json:"budget,omitempty"`
	// MustRefuse demands the evidence of an eviction that the budget refused, at a time when its status allowed none.
	MustRefuse bool `json:"mustRefuse,omitempty"`
	// AtLeast is how many healthy pods of Workload an accepted eviction must leave even if no budget says so: it lets a
	// workload without a budget be caught. Zero leaves the demand to the budgets.
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

func (p BudgetHonoured) judge(f *facts) Verdict {
	l := budgetLedger{facts: f, pods: followPods(f.run)}
	d := slices.Concat(f.inOrder(f.begin()), f.faultsBit(true))
	l.demands = demands(f.run, func(key history.Key) bool { return p.Budget == "" || key.Name == p.Budget })
	switch {
	case len(l.demands) > 0:
	case p.Budget != "":
		d.add("the record has no budget %s", p.Budget)
	case p.AtLeast == 0:
		d.add("the record has no budget")
	}
	if p.AtLeast > 0 {
		d = append(d, l.demandOf(f.run, p.Workload, p.AtLeast)...)
	}
	for _, demand := range l.demands {
		if demand.broken != "" {
			d.add("%s cannot be judged: %s", demand.words, demand.broken)
		}
	}
	l.weighAll(f.run)
	v := p.verdict(&l, d)
	l.timeline(&v)
	return v
}

func (p BudgetHonoured) verdict(l *budgetLedger, d doubts) Verdict {
	v := Verdict{}
	v.measure("accepted", float64(l.accepted))
	v.measure("refused", float64(l.refused))
	v.measure("ambiguous", float64(len(l.open)))
	v.measure("refusedUnderSeveralBudgets", float64(l.underSeveral))
	if l.accepted+l.refused == 0 {
		d.add("no eviction of a pod under a budget was asked for")
	}
	if p.MustRefuse && l.blocked == 0 {
		d.add("no eviction was refused by a budget that allowed none at the time: %d accepted, %d refused", l.accepted, l.refused)
	}
	d = slices.Concat(d, l.unknown, l.unheard, l.untested(&v))
	if l.tightest != nil {
		v.measure("leastHealthy", float64(l.tightest.healthy))
		v.measure("leastHealthyDemanded", float64(l.tightest.desired))
	}
	if len(l.broken) > 0 {
		v.At = l.broken[0].at
		for _, b := range l.broken {
			v.support(b.String())
		}
		return v.violated(d, "%s", l.broken[0])
	}
	if l.tightest != nil {
		v.support("the tightest: " + l.tightest.String())
	}
	v.support(l.tests...)
	v.support(l.refusals...)
	return v.held(d, "%s accepted and %d refused, and none took the healthy pods below what was demanded",
		count(l.accepted, "eviction"), l.refused)
}
