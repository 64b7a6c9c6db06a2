package mutants

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// PartitionWithoutHealthChecks trusts Kubernetes' endpoints, which follow a partition only after a while.
var PartitionWithoutHealthChecks = scenario.Mutate(chaos.PartitionOneWorkerBehindAGateway, scenario.Mutation{
	Name:     "mutants/partition-without-health-checks",
	Removed:  "a gateway that checks its upstreams and tries another",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseDeadUpstream,
	Break: func(s *scenario.Spec) {
		s.Gateway.Health, s.Gateway.Ejection, s.Gateway.MaxTries = workloads.NoHealth, workloads.NoEjection, 1
		s.Hold = 15 * time.Second // long enough for the loss to be noticed; requests fail from the first second on
	},
})
