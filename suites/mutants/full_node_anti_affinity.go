package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// FullNodeAntiAffinity deletes an old pod before the new one is scheduled. Under required anti-affinity with a pod on every
// node, an update without surge has no other way. The full node has no room for the new pod.
var FullNodeAntiAffinity = scenario.Mutate(chaos.FullNodeAntiAffinitySurge, scenario.Mutation{
	Name:     "mutants/full-node-anti-affinity",
	Removed:  "an update that adds a pod before it removes one (maxUnavailable 1 instead of maxSurge 1)",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseEmptyUpstream,
	Break: func(s *scenario.Spec) {
		s.Backend.Strategy = workloads.Strategy{MaxSurge: "0", MaxUnavailable: "1"}
	},
})
