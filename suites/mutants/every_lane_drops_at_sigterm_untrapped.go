package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// EveryLaneDropsAtSIGTERMUntrapped is mutants/every-lane-drops-at-sigterm without its trap. Its answers take no time, so a lane
// is only hurt if a request arrives just when a pod exits, or if its connection was meant to last.
var EveryLaneDropsAtSIGTERMUntrapped = scenario.Mutate(chaos.EveryLaneRollingUpdate, scenario.Mutation{
	Name:     "mutants/every-lane-drops-at-sigterm-untrapped",
	Removed:  "three practices at SIGTERM: GOAWAY, close messages, and finishing requests in flight (by a server that sets no trap)",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    lasting, // as in mutants/every-lane-drops-at-sigterm
	Cause:    attribution.CauseCutAtSIGTERM,
	ByChance: true, // on each lane a request must be in flight when a pod exits
	Break:    func(s *scenario.Spec) { s.Backend.AtTerm = workloads.DropUntrapped },
})
