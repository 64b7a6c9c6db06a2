package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ABudgetOfAllButOne has a budget that lets the drain through: the budget that the other scenarios use as good practice.
var ABudgetOfAllButOne = scenario.Mutate(chaos.ABudgetOfAllBlocksADrain, scenario.Mutation{
	Name:     "mutants/a-budget-of-all-but-one",
	Removed:  "a budget that requires every replica (it requires five of six)",
	CaughtBy: invariant.DrainBlocked{},
	Reason:   judge.Evicted,
	Break:    func(s *scenario.Spec) { s.Backend.Budget = workloads.Budget{MinAvailable: "5"} },
})
