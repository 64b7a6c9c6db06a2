package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ConnectionsOutliveThePodUntrapped is mutants/connections-outlive-the-pod without its trap: it exits when its time is over,
// and cuts the requests in flight at that moment.
var ConnectionsOutliveThePodUntrapped = scenario.Mutate(chaos.DeletePods, scenario.Mutation{
	Name:     "mutants/connections-outlive-the-pod-untrapped",
	Removed:  "asking clients to leave their long-lived connections before the pod ends (by a server that sets no trap)",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneReused}, // as in mutants/connections-outlive-the-pod
	Cause:    attribution.CauseCutAtEnd,
	ByChance: true, // a request must be in flight when the pod exits
	Break: func(s *scenario.Spec) {
		s.Backend.AtTerm = workloads.HoldUntrapped
		s.Full = true
	},
})
