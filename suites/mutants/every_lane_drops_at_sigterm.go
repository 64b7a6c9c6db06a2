package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// EveryLaneDropsAtSIGTERM exits at once. It is to be caught by clients that multiplex their connections or hold one.
var EveryLaneDropsAtSIGTERM = scenario.Mutate(chaos.EveryLaneRollingUpdate, scenario.Mutation{
	Name:     "mutants/every-lane-drops-at-sigterm",
	Removed:  "GOAWAY and goodbyes at SIGTERM, and finishing what is in flight",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    invariant.CauseCutAtSIGTERM,
	Break: func(s *scenario.Spec) {
		s.Backend.AtTerm = workloads.Drop
		s.Promises = []invariant.Invariant{invariant.NoFailedRequests{
			Lanes: []history.Lane{history.LaneStream, history.LaneSocket, history.LaneH2C, history.LaneGRPC},
		}}
	},
})
