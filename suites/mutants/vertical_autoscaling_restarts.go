package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// VerticalAutoscalingRestarts has the autoscaler, which asks no budget for what it does in place, restart what it resizes.
var VerticalAutoscalingRestarts = scenario.Mutate(chaos.VerticalAutoscaling, scenario.Mutation{
	Name:     "mutants/vertical-autoscaling-restarts",
	Removed:  "a resizePolicy of NotRequired (its default)",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseRestart,
	Break:    func(s *scenario.Spec) { s.Backend.ResizeRestarts = true },
})
