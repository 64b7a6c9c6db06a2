package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// FullNodeAntiAffinity gives up a pod before it knows of a place for the next: there is no other way to update under required
// anti-affinity where every node has a pod.
var FullNodeAntiAffinity = scenario.Mutate(chaos.FullNode, scenario.Mutation{
	Name:     "mutants/full-node-anti-affinity",
	Removed:  "a place for the new pod beside the old (anti-affinity instead of spreading), and a gateway that checks its entry nodes",
	CaughtBy: invariant.NoFailedRequests{},
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = workloads.NoSpread
		s.Backend.Affinity = []workloads.Affinity{{Key: workloads.Host, Away: true}}
		s.Backend.Strategy = workloads.Strategy{MaxSurge: "0", MaxUnavailable: "1"}
		s.Gateway.Health, s.Gateway.Ejection, s.Gateway.MaxTries = workloads.NoHealth, workloads.NoEjection, 1
	},
})
