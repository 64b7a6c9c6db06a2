package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ConnectionsOutliveThePod keeps long-lived connections open to its very end, and then takes them with it. It sets a trap: at its end
// it waits up to a second for a request that it can cut. See mutants/connections-outlive-the-pod-untrapped.
var ConnectionsOutliveThePod = scenario.Mutate(chaos.DeletePods, scenario.Mutation{
	Name:     "mutants/connections-outlive-the-pod",
	Removed:  "asking clients off their long-lived connections before the end",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneReused}, // nobody connects any more when it ends: its preStop sleep has passed
	Cause:    attribution.CauseCutAtEnd,
	Break:    func(s *scenario.Spec) { s.Backend.AtTerm = workloads.Hold },
})
