package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ConnectionsOutliveThePod keeps long-lived connections open to its very end, and then takes them with it.
var ConnectionsOutliveThePod = scenario.Mutate(chaos.DeletePods, scenario.Mutation{
	Name:     "mutants/connections-outlive-the-pod",
	Removed:  "asking clients off their long-lived connections before the end",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    invariant.CauseCutAtEnd,
	Break:    func(s *scenario.Spec) { s.Backend.AtTerm = workloads.Hold },
})
