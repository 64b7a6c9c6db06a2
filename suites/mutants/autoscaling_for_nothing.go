package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// AutoscalingForNothing makes pods that nobody sends to: the old ones are as busy as before.
var AutoscalingForNothing = scenario.Mutate(chaos.HorizontalAutoscaling, scenario.Mutation{
	Name:     "mutants/autoscaling-for-nothing",
	Removed:  "closing connections after so many requests",
	CaughtBy: invariant.SharesLoad{},
	Break:    func(s *scenario.Spec) { s.Backend.CloseAfter = 0 },
})
