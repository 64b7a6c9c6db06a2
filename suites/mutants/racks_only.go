package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
)

// RacksOnly relies on a spread over racks to spread over power lines, too, which happens in some of ten trials only.
var RacksOnly = scenario.Mutate(conformance.RacksAndPowerLines, scenario.Mutation{
	Name:     "mutants/racks-only",
	Removed:  "a constraint for power lines",
	CaughtBy: invariant.SpreadTrials{TopologyKey: "power", Max: 1},
	Reason:   judge.HasNodes,
	Break:    func(s *scenario.Spec) { s.Backend.Spread = s.Backend.Spread[:1] },
})
