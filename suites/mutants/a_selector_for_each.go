package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
)

// ASelectorForEach spreads each workload by itself, which does nothing for workloads of one replica: all together they are
// spread by chance.
var ASelectorForEach = scenario.Mutate(conformance.OneSelectorForSeveral, scenario.Mutation{
	Name:     "mutants/a-selector-for-each",
	Removed:  "a selector that all workloads share",
	CaughtBy: invariant.SpreadTogether{},
	Reason:   judge.HasNodes,
	Break:    func(s *scenario.Spec) { s.Backend.Spread[0].Selector = nil }, // nil selects the workload's own pods
})
