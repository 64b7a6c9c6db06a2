package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// lasting are the lanes of clients that multiplex their connections or hold one.
var lasting = []history.Lane{history.LaneStream, history.LaneSocket, history.LaneH2C, history.LaneGRPC}

// EveryLaneDropsAtSIGTERM exits at once. It is to be caught by clients that multiplex their connections or hold one. It sets a
// trap: it waits up to a second for a request that it can cut. See mutants/every-lane-drops-at-sigterm-untrapped.
var EveryLaneDropsAtSIGTERM = scenario.Mutate(chaos.EveryLaneRollingUpdate, scenario.Mutation{
	Name:     "mutants/every-lane-drops-at-sigterm",
	Removed:  "three practices at SIGTERM: GOAWAY, goodbyes, and finishing what is in flight",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    lasting, // a new connection finds no such pod any more, and mutants/drops-at-sigterm has the kept ones
	Cause:    attribution.CauseCutAtSIGTERM,
	Break:    func(s *scenario.Spec) { s.Backend.AtTerm = workloads.Drop },
})
