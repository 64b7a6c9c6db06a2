package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
	"github.com/holdfast-ha/holdfast/workloads"
)

// RolloutSpreadOf20ByAllRevisions is RolloutSpreadByAllRevisions with 20 replicas and a maxSurge of five.
var RolloutSpreadOf20ByAllRevisions = scenario.Mutate(conformance.RolloutSpreadOf20, scenario.Mutation{
	Name:     "mutants/rollout-spread-of-20-by-all-revisions",
	Removed:  "matchLabelKeys",
	CaughtBy: invariant.SpreadTrials{},
	Reason:   judge.HasNodes,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Host, MatchLabelKeys: []string{}}}
	},
})
