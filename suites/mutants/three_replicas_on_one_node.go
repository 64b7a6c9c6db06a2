package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ThreeReplicasOnOneNode loses all three replicas with the one node they are on.
var ThreeReplicasOnOneNode = scenario.Mutate(chaos.KillOneWorkerOfThreeReplicas, scenario.Mutation{
	Name:     "mutants/three-replicas-on-one-node",
	Removed:  "topology spread constraints",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseOutageNodeLost,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = workloads.NoSpread
		s.Backend.Affinity = []workloads.Affinity{{Key: workloads.Host}} // to its own pods: the second replica follows the first
	},
})
