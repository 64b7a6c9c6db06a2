package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
)

// RolloutSpreadSurgeOf21 leaves the scheduler a choice at each step: 21 and one more do not divide by 3.
var RolloutSpreadSurgeOf21 = scenario.Mutate(conformance.RolloutSpreadSurgeDivides, scenario.Mutation{
	Name:     "mutants/rollout-spread-surge-of-21",
	Removed:  "a number of replicas that with the surge divides by the nodes (here 21)",
	CaughtBy: invariant.SpreadTrials{},
	Break:    func(s *scenario.Spec) { s.Backend.Replicas = 21 },
})
