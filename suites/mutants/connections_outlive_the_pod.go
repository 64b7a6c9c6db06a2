package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ConnectionsOutliveThePod keeps long-lived connections open until the process exits, which cuts them. Its server sets a trap:
// before it exits it waits up to a second for a request that it can cut. See mutants/connections-outlive-the-pod-untrapped.
var ConnectionsOutliveThePod = scenario.Mutate(chaos.DeletePods, scenario.Mutation{
	Name:     "mutants/connections-outlive-the-pod",
	Removed:  "asking clients to leave their long-lived connections before the pod ends",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneReused}, // new connections stopped during the preStop sleep
	Cause:    attribution.CauseCutAtEnd,
	Break:    func(s *scenario.Spec) { s.Backend.AtTerm = workloads.Hold },
})
