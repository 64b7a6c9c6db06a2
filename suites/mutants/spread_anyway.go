package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
	"github.com/holdfast-ha/holdfast/workloads"
)

// SpreadAnyway crowds the node that has room, and nothing reports it.
var SpreadAnyway = scenario.Mutate(conformance.FullNodeHardSpread, scenario.Mutation{
	Name:     "mutants/spread-anyway",
	Removed:  "DoNotSchedule (ScheduleAnyway instead)",
	CaughtBy: invariant.Spread{},
	Reason:   judge.HasNodes,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Host, Unsatisfiable: workloads.ScheduleAnyway}}
		s.SchedulableReplicas = 0 // there is always some place
	},
})
