package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// ResizeRestarts restarts every container to resize it, as servers need that read their size once.
//
// Source: https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/#container-resize-policies
var ResizeRestarts = scenario.Mutate(chaos.ResizeInPlace, scenario.Mutation{
	Name:     "mutants/resize-restarts",
	Removed:  "a resizePolicy of NotRequired (its default)",
	CaughtBy: invariant.ResizedInPlace{},
	Reason:   judge.Restarted,
	Break:    func(s *scenario.Spec) { s.Backend.ResizeRestarts = true },
})
