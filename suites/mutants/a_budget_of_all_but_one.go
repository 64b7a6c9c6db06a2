package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ABudgetOfAllButOne lets a drain through that was to be blocked: what every other scenario calls good.
var ABudgetOfAllButOne = scenario.Mutate(chaos.ABudgetOfAllBlocksADrain, scenario.Mutation{
	Name:     "mutants/a-budget-of-all-but-one",
	Removed:  "a budget that demands every replica (it demands five of six)",
	CaughtBy: invariant.DrainBlocked{},
	Break:    func(s *scenario.Spec) { s.Backend.Budget = workloads.Budget{MinAvailable: "5"} },
})
