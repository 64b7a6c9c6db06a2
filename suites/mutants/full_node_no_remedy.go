package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// FullNodeNoRemedy ends with both pods on one node, and every second request goes to the other.
var FullNodeNoRemedy = scenario.Mutate(chaos.FullNode, scenario.Mutation{
	Name:     "mutants/full-node-no-remedy",
	Removed:  "two practices: a hard spread constraint, and a gateway that checks its entry nodes",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseEmptyUpstream,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Host, Unsatisfiable: workloads.ScheduleAnyway}}
		s.Gateway.Health, s.Gateway.Ejection, s.Gateway.MaxTries = workloads.NoHealth, workloads.NoEjection, 1
	},
})
