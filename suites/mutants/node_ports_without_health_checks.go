package mutants

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// NodePortsWithoutHealthChecks has every pod on one node, and still loses about half of the requests when the other node dies:
// its gateway keeps sending every second request there.
var NodePortsWithoutHealthChecks = scenario.Mutate(chaos.KillOneWorkerBehindNodePorts, scenario.Mutation{
	Name:     "mutants/node-ports-without-health-checks",
	Removed:  "three practices: spreading, and a gateway that checks its fixed upstreams and tries another",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseDeadUpstream,
	Break: func(s *scenario.Spec) {
		s.PinTo, s.Backend.NodePortLocal = 1, false
		s.Gateway.Health, s.Gateway.Ejection, s.Gateway.MaxTries = workloads.NoHealth, workloads.NoEjection, 1
		s.Hold = 10 * time.Second // long enough for the loss to be noticed; requests fail from the first second on
	},
})
