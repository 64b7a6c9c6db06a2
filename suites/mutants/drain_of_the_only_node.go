package mutants

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// DrainOfTheOnlyNode has all six replicas on one node, so draining it is an outage. The outage lasts more than five minutes,
// because the scheduler does not retry the new pods when the last old pod is gone.
//
// Source: https://github.com/kubernetes/kubernetes/issues/141354
var DrainOfTheOnlyNode = scenario.Mutate(chaos.DrainWithoutABudget, scenario.Mutation{
	Name:     "mutants/drain-of-the-only-node",
	Removed:  "topology spread constraints",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseOutageEviction,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = workloads.NoSpread
		s.About = 6 * time.Minute
		s.Backend.Affinity = []workloads.Affinity{{Key: workloads.Host}} // to its own pods: the second replica follows the first
	},
})
