package mutants

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// FixedUpstreams goes through node ports of every worker, dead or alive: the failures do not end when Kubernetes has
// noticed the loss.
var FixedUpstreams = scenario.Mutate(chaos.KillOneWorker, scenario.Mutation{
	Name:     "mutants/fixed-upstreams",
	Removed:  "a route that follows the EndpointSlices",
	CaughtBy: invariant.FailuresEndWithin{},
	Cause:    attribution.CauseDeadUpstream,
	Break: func(s *scenario.Spec) {
		s.Backend.NodePort, s.NodePorts = 30080, 6 // all workers: whichever dies is among them
		s.Gateway = &workloads.Gateway{Health: workloads.NoHealth, Ejection: workloads.NoEjection, MaxTries: 1}
		s.Hold = 15 * time.Second // 13 s are predicted, and every sixth request fails in the two after them, too
	},
})
