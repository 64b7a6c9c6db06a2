package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// FullNodeAntiAffinityPreferred has a place for every new pod: the same node's. The update comes to its end, and every second
// request goes to a node without a pod.
var FullNodeAntiAffinityPreferred = scenario.Mutate(chaos.FullNodeAntiAffinitySurge, scenario.Mutation{
	Name:     "mutants/full-node-anti-affinity-preferred",
	Removed:  "anti-affinity that is required, and not a preference",
	CaughtBy: invariant.Placed{},
	Break:    func(s *scenario.Spec) { s.Backend.Affinity[0].Weight = 100 },
})
