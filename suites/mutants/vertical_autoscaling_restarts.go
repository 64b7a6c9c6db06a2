package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// VerticalAutoscalingRestarts has the autoscaler restart the pods it resizes. A budget does not stop it, because it resizes in
// place.
var VerticalAutoscalingRestarts = scenario.Mutate(chaos.VerticalAutoscaling, scenario.Mutation{
	Name:     "mutants/vertical-autoscaling-restarts",
	Removed:  "a resizePolicy of NotRequired (its default)",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseRestart,
	Break:    func(s *scenario.Spec) { s.Backend.ResizeRestarts = true },
})
