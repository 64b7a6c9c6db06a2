package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/scale"
	"github.com/holdfast-ha/holdfast/workloads"
)

// NoSpreadAtScale leaves the zones to the spread that the scheduler prefers by itself.
var NoSpreadAtScale = scenario.Mutate(scale.Rollout, scenario.Mutation{
	Name:     "mutants/no-spread-at-scale",
	Removed:  "a topology spread constraint",
	CaughtBy: invariant.Spread{},
	Break:    func(s *scenario.Spec) { s.Simulated.Backend.Spread = workloads.NoSpread },
})
