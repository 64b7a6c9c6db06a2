package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// FullNodeThenALostOneSoft loses both pods with the node that they share.
var FullNodeThenALostOneSoft = scenario.Mutate(chaos.FullNodeThenALostOne, scenario.Mutation{
	Name:     "mutants/full-node-then-a-lost-one-soft",
	Removed:  "a hard spread constraint",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseOutageNodeLost,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Host, Unsatisfiable: workloads.ScheduleAnyway}}
	},
})
