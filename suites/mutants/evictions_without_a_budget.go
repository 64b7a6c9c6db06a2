package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
	"github.com/holdfast-ha/holdfast/workloads"
)

// EvictionsWithoutABudget lets evictions take every pod.
var EvictionsWithoutABudget = scenario.Mutate(conformance.BudgetMinAvailable, scenario.Mutation{
	Name:     "mutants/evictions-without-a-budget",
	Removed:  "a disruption budget",
	CaughtBy: invariant.BudgetHonoured{},
	Reason:   judge.Evicted,
	Break:    func(s *scenario.Spec) { s.Backend.Budget = workloads.NoBudget },
})
