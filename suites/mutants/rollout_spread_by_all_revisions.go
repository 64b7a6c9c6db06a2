package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
	"github.com/holdfast-ha/holdfast/workloads"
)

// RolloutSpreadByAllRevisions counts old and new pods together: when the old ones are gone, the rest is even only by luck.
var RolloutSpreadByAllRevisions = scenario.Mutate(conformance.RolloutSpreadMatchLabelKeys, scenario.Mutation{
	Name:     "mutants/rollout-spread-by-all-revisions",
	Removed:  "matchLabelKeys",
	CaughtBy: invariant.SpreadTrials{},
	Reason:   judge.HasNodes,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Host, MatchLabelKeys: []string{}}}
	},
})
