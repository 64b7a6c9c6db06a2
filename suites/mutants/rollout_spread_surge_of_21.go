package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
)

// RolloutSpreadSurgeOf21 leaves the scheduler two nodes to choose from at each step: 21 pods and one surge pod are 8, 7 and 7.
var RolloutSpreadSurgeOf21 = scenario.Mutate(conformance.RolloutSpreadSurgeDivides, scenario.Mutation{
	Name:     "mutants/rollout-spread-surge-of-21",
	Removed:  "a number of replicas that, plus maxSurge, is divisible by the number of nodes (21 instead of 20)",
	CaughtBy: invariant.SpreadTrials{},
	Reason:   judge.HasNodes,
	Break:    func(s *scenario.Spec) { s.Backend.Replicas = 21 },
})
