package mutants

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// FixedUpstreams sends requests to the node ports of all workers, dead or alive: the failures do not end when Kubernetes has
// noticed the loss.
var FixedUpstreams = scenario.Mutate(chaos.KillOneWorker, scenario.Mutation{
	Name:     "mutants/fixed-upstreams",
	Removed:  "a route that follows the EndpointSlices",
	CaughtBy: invariant.FailuresEndWithin{},
	Cause:    attribution.CauseDeadUpstream,
	Break: func(s *scenario.Spec) {
		s.Backend.NodePort, s.NodePorts = 30080, 6 // all workers, and so the one that dies
		s.Gateway = &workloads.Gateway{Health: workloads.NoHealth, Ejection: workloads.NoEjection, MaxTries: 1}
		s.Hold = 15 * time.Second // two more than the predicted 13 s; every sixth request still fails in them
	},
})
