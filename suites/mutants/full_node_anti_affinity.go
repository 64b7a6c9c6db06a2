package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// FullNodeAntiAffinity gives up a pod before it knows of a place for the next: there is no other way to update under required
// anti-affinity where every node has a pod. On the full node there is none.
var FullNodeAntiAffinity = scenario.Mutate(chaos.FullNodeAntiAffinitySurge, scenario.Mutation{
	Name:     "mutants/full-node-anti-affinity",
	Removed:  "an update that gives up no pod (maxUnavailable 1 instead of maxSurge 1)",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseEmptyUpstream,
	Break: func(s *scenario.Spec) {
		s.Backend.Strategy = workloads.Strategy{MaxSurge: "0", MaxUnavailable: "1"}
	},
})
