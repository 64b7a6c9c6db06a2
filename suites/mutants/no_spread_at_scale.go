package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/scale"
	"github.com/holdfast-ha/holdfast/workloads"
)

// NoSpreadAtScale has pods that prefer each other's zone, and nothing that keeps them apart. Without the preference the spread that the
// scheduler prefers by itself kept 60 replicas even.
var NoSpreadAtScale = scenario.Mutate(scale.Rollout, scenario.Mutation{
	Name:     "mutants/no-spread-at-scale",
	Removed:  "a topology spread constraint on pods that prefer each other's zone",
	CaughtBy: invariant.Spread{},
	Reason:   judge.HasNodes,
	Break: func(s *scenario.Spec) {
		s.Simulated.Backend.Spread = workloads.NoSpread
		s.Simulated.Backend.Affinity = []workloads.Affinity{{Key: workloads.Zone, Weight: 100}}
	},
})
