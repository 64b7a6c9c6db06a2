package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// EveryLaneShutdownAlone ends by net/http's Shutdown, as many servers do: it finishes its requests, and forgets that there
// are connections which carry no requests any more.
//
// Source: https://pkg.go.dev/net/http#Server.Shutdown
var EveryLaneShutdownAlone = scenario.Mutate(chaos.EveryLaneRollingUpdate, scenario.Mutation{
	Name:     "mutants/every-lane-shutdown-alone",
	Removed:  "saying goodbye on connections that last",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneStream, history.LaneSocket}, // the others carry requests, which Shutdown finishes
	Cause:    attribution.CauseCutAtSIGTERM,
	Break:    func(s *scenario.Spec) { s.Backend.AtTerm = workloads.Shutdown },
})
