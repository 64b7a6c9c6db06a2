package mutants

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// DrainOfTheOnlyNode has six replicas, all on one node: draining it is an outage. It lasts for more than five minutes: the
// scheduler does not try the new pods again when the last of the old ones is gone.
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
		s.Backend.Affinity = []workloads.Affinity{{Key: workloads.Host}} // to its own pods: the second goes where the first is
	},
})
