package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
	"github.com/holdfast-ha/holdfast/workloads"
)

// RolloutSpreadSurgeOfAQuarter places the new pods where the old ones leave room, and then the old ones end.
var RolloutSpreadSurgeOfAQuarter = scenario.Mutate(conformance.RolloutSpreadSurgeDivides, scenario.Mutation{
	Name:     "mutants/rollout-spread-surge-of-a-quarter",
	Removed:  "replacing one pod at a time (maxSurge 25 % instead of 1)",
	CaughtBy: invariant.SpreadTrials{},
	Reason:   judge.HasNodes,
	Break:    func(s *scenario.Spec) { s.Backend.Strategy = workloads.Strategy{MaxSurge: "25%", MaxUnavailable: "0"} },
})
