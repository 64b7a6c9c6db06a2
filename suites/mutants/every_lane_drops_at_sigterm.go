package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// lasting are the lanes of clients that multiplex their connections or hold one permanently.
var lasting = load.LaneNames(load.Multiplexed, load.Held)

// EveryLaneDropsAtSIGTERM exits at once. Clients that multiplex their connections or hold one permanently must catch it. Its
// server sets a trap: before it exits it waits up to a second for a request that it can cut. See
// mutants/every-lane-drops-at-sigterm-untrapped.
var EveryLaneDropsAtSIGTERM = scenario.Mutate(chaos.EveryLaneRollingUpdate, scenario.Mutation{
	Name:     "mutants/every-lane-drops-at-sigterm",
	Removed:  "three practices at SIGTERM: GOAWAY, close messages, and finishing requests in flight",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    lasting, // new connections no longer reach the pod, and mutants/drops-at-sigterm covers the reused ones
	Cause:    attribution.CauseCutAtSIGTERM,
	Break:    func(s *scenario.Spec) { s.Backend.AtTerm = workloads.Drop },
})
