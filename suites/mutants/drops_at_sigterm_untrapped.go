package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// DropsAtSIGTERMUntrapped is mutants/drops-at-sigterm without its trap: it exits at once, and cuts the requests in flight at
// that moment.
var DropsAtSIGTERMUntrapped = scenario.Mutate(chaos.DeletePods, scenario.Mutation{
	Name:     "mutants/drops-at-sigterm-untrapped",
	Removed:  "finishing the requests in flight at SIGTERM (by a server that sets no trap)",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneReused}, // as in mutants/drops-at-sigterm
	Cause:    attribution.CauseCutAtSIGTERM,
	ByChance: true, // a request must be in flight when the pod exits
	Break: func(s *scenario.Spec) {
		s.Backend.AtTerm = workloads.DropUntrapped
		s.Full = true
	},
})
