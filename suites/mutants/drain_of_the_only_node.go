package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// DrainOfTheOnlyNode has six replicas, all on one node: draining it is an outage.
var DrainOfTheOnlyNode = scenario.Mutate(chaos.DrainWithoutABudget, scenario.Mutation{
	Name:     "mutants/drain-of-the-only-node",
	Removed:  "topology spread constraints",
	CaughtBy: invariant.NoFailedRequests{},
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = workloads.NoSpread
		s.Backend.Affinity = []workloads.Affinity{{Key: workloads.Host}} // to its own pods: the second goes where the first is
	},
})
