package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ThrottledNoPreStop keeps the load worker from running most of the time, and the workload is broken as well: failures that the
// system itself reported still count.
var ThrottledNoPreStop = scenario.Mutate(chaos.RollingUpdate, scenario.Mutation{
	Name:     "mutants/throttled-no-prestop",
	Removed:  "a preStop sleep, and processor time for the load worker",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneFresh}, // as in mutants/no-prestop
	Cause:    attribution.CauseLateEndpoint,
	Break: func(s *scenario.Spec) {
		s.Backend.PreStop, s.Backend.StartDelay = workloads.NoPreStop, 0 // as in mutants/no-prestop
		s.LoadWorkers.CPU = throttled
		s.Full = true
	},
})
