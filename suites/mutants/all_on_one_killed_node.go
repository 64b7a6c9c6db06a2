package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// AllOnOneKilledNode loses every replica with one node: all requests fail until it is back, and not one in ten.
var AllOnOneKilledNode = scenario.Mutate(chaos.KillOneWorker, scenario.Mutation{
	Name:     "mutants/all-on-one-killed-node",
	Removed:  "topology spread constraints",
	CaughtBy: invariant.FewFailedRequests{},
	Cause:    attribution.CauseOutageNodeLost,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = workloads.NoSpread
		s.Backend.Affinity = []workloads.Affinity{{Key: workloads.Host}} // to its own pods: the second replica follows the first
	},
})
