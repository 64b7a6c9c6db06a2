package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// FullNodeAntiAffinityPreferred places both new pods on the same node. The update completes, and every second request goes to a
// node without a pod.
var FullNodeAntiAffinityPreferred = scenario.Mutate(chaos.FullNodeAntiAffinitySurge, scenario.Mutation{
	Name:     "mutants/full-node-anti-affinity-preferred",
	Removed:  "required anti-affinity (preferred instead)",
	CaughtBy: invariant.Placed{},
	Reason:   judge.HasNodes,
	Break:    func(s *scenario.Spec) { s.Backend.Affinity[0].Weight = 100 },
})
