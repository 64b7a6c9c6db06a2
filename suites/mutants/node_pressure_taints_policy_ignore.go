package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// NodePressureTaintsPolicyIgnore has Kubernetes' own default: the node whose taint keeps new pods away goes on to be a domain,
// an empty one, and nothing may be placed elsewhere before something is placed there.
var NodePressureTaintsPolicyIgnore = scenario.Mutate(chaos.NodePressure, scenario.Mutation{
	Name:     "mutants/node-pressure-taints-policy-ignore",
	Removed:  "nodeTaintsPolicy: Honor",
	CaughtBy: invariant.ReplacedWithin{},
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Zone, NodeTaintsPolicy: workloads.Ignore}}
	},
})
