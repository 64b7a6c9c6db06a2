package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// NoBudget loses both pods at once when both their nodes are drained.
var NoBudget = scenario.Mutate(chaos.DrainTwoWorkers, scenario.Mutation{
	Name:     "mutants/no-budget",
	Removed:  "a disruption budget",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseOutageEviction,
	Break:    func(s *scenario.Spec) { s.Backend.Budget = workloads.NoBudget },
})
