package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/scale"
	"github.com/holdfast-ha/holdfast/workloads"
)

// NoBudgetAtScale evicts the pods of four simulated nodes at once.
var NoBudgetAtScale = scenario.Mutate(scale.Drain, scenario.Mutation{
	Name:     "mutants/no-budget-at-scale",
	Removed:  "a disruption budget",
	CaughtBy: invariant.BudgetHonoured{},
	Reason:   judge.Evicted,
	Break:    func(s *scenario.Spec) { s.Simulated.Backend.Budget = workloads.NoBudget },
})
