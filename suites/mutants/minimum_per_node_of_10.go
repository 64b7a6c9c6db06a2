package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
)

// MinimumPerNodeOf10 has one replica fewer than the rule asks for.
var MinimumPerNodeOf10 = scenario.Mutate(conformance.MinimumPerNode, scenario.Mutation{
	Name:     "mutants/minimum-per-node-of-10",
	Removed:  "the eleventh replica that the rule asks for",
	CaughtBy: invariant.PerDomain{},
	Reason:   judge.HasNodes,
	Break:    func(s *scenario.Spec) { s.Backend.Replicas = 10 },
})
