package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// EveryLaneShutdownAlone ends with net/http's Shutdown, as many servers do. Shutdown finishes requests in flight, but neither
// closes nor waits for connections that no longer carry requests, such as WebSockets.
//
// Source: https://pkg.go.dev/net/http#Server.Shutdown
var EveryLaneShutdownAlone = scenario.Mutate(chaos.EveryLaneRollingUpdate, scenario.Mutation{
	Name:     "mutants/every-lane-shutdown-alone",
	Removed:  "a close message on long-lived connections",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    load.LaneNames(load.Held), // the other lanes carry requests, which Shutdown finishes
	Cause:    attribution.CauseCutAtSIGTERM,
	Break:    func(s *scenario.Spec) { s.Backend.AtTerm = workloads.Shutdown },
})
