package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// RolloutWithoutRoom has Kubernetes' defaults for two replicas: a new pod comes first, and no node may take it. No request fails, and the release
// never happens.
var RolloutWithoutRoom = scenario.Mutate(chaos.RollingUpdateOnePodANode, scenario.Mutation{
	Name:     "mutants/rollout-without-room",
	Removed:  "an update that removes a pod before it adds one (maxSurge 1 instead of maxUnavailable 1)",
	CaughtBy: invariant.RolloutCompletes{},
	Reason:   judge.NoNode,
	Break: func(s *scenario.Spec) {
		s.Backend.Strategy = workloads.Strategy{MaxSurge: "25%", MaxUnavailable: "0"}
	},
})
