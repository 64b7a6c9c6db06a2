package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// FullNodeThenALostOneUnchecked keeps sending every second request to the dead node.
var FullNodeThenALostOneUnchecked = scenario.Mutate(chaos.FullNodeThenALostOne, scenario.Mutation{
	Name:     "mutants/full-node-then-a-lost-one-unchecked",
	Removed:  "a gateway that checks its entry nodes",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseDeadUpstream,
	Break: func(s *scenario.Spec) {
		s.Gateway.Health, s.Gateway.Ejection, s.Gateway.MaxTries = workloads.NoHealth, workloads.NoEjection, 1
	},
})
