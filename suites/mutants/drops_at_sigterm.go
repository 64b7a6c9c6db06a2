package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// DropsAtSIGTERM exits at once and cuts the requests in flight. Its server sets a trap: before it exits it waits up to a second
// for a request that it can cut. See mutants/drops-at-sigterm-untrapped.
var DropsAtSIGTERM = scenario.Mutate(chaos.DeletePods, scenario.Mutation{
	Name:     "mutants/drops-at-sigterm",
	Removed:  "finishing the requests in flight at SIGTERM",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneReused}, // new connections stopped during the preStop sleep
	Cause:    attribution.CauseCutAtSIGTERM,
	Break:    func(s *scenario.Spec) { s.Backend.AtTerm = workloads.Drop },
})
