package mutants

import (
	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
)

// NoRegionLayer leaves the choice between zones to chance: in two of three cases the fourth replica is the third in the
// southern region.
var NoRegionLayer = scenario.Mutate(conformance.ThreeLayers, scenario.Mutation{
	Name:     "mutants/no-region-layer",
	Removed:  "a constraint over regions",
	CaughtBy: invariant.SpreadTrials{TopologyKey: clusters.LabelRegion, Max: 1},
	Reason:   judge.HasNodes,
	Break:    func(s *scenario.Spec) { s.Backend.Spread = s.Backend.Spread[1:] },
})
