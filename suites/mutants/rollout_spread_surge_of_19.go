package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
)

// RolloutSpreadSurgeOf19 leaves the scheduler a choice at each step: 19 and one more do not divide by 3.
var RolloutSpreadSurgeOf19 = scenario.Mutate(conformance.RolloutSpreadSurgeDivides, scenario.Mutation{
	Name:     "mutants/rollout-spread-surge-of-19",
	Removed:  "a number of replicas that with the surge divides by the nodes (here 19)",
	CaughtBy: invariant.SpreadTrials{},
	Break:    func(s *scenario.Spec) { s.Backend.Replicas = 19 },
})
