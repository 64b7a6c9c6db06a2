package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// AutoscalingForNothing adds pods that get no requests: the old ones stay as busy as before.
var AutoscalingForNothing = scenario.Mutate(chaos.HorizontalAutoscaling, scenario.Mutation{
	Name:     "mutants/autoscaling-for-nothing",
	Removed:  "closing connections after a number of requests",
	CaughtBy: invariant.SharesLoad{},
	Reason:   judge.AllReady,
	Break:    func(s *scenario.Spec) { s.Backend.CloseAfter = 0 },
})
