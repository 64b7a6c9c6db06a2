package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// ResizeRestarts has every container start again for the sake of its new size, as servers want that read it once.
//
// Source: https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/#container-resize-policies
var ResizeRestarts = scenario.Mutate(chaos.ResizeInPlace, scenario.Mutation{
	Name:     "mutants/resize-restarts",
	Removed:  "a resizePolicy of NotRequired (its default)",
	CaughtBy: invariant.ResizedInPlace{},
	Break:    func(s *scenario.Spec) { s.Backend.ResizeRestarts = true },
})
