package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// FullNodeByAllRevisions also counts the old pods, which are about to end: a spread that is even during the update is uneven
// afterwards.
var FullNodeByAllRevisions = scenario.Mutate(chaos.FullNode, scenario.Mutation{
	Name:     "mutants/full-node-by-all-revisions",
	Removed:  "two practices: matchLabelKeys, and a gateway that checks its entry nodes",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseEmptyUpstream,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Host, MatchLabelKeys: []string{}}}
		s.Gateway.Health, s.Gateway.Ejection, s.Gateway.MaxTries = workloads.NoHealth, workloads.NoEjection, 1
	},
})
