package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// NodePressureTaintsPolicyIgnore uses Kubernetes' default: the tainted node still counts as a domain, an empty one. No
// replacement may be scheduled elsewhere before the empty domain has a pod, which the taint forbids.
var NodePressureTaintsPolicyIgnore = scenario.Mutate(chaos.NodePressure, scenario.Mutation{
	Name:     "mutants/node-pressure-taints-policy-ignore",
	Removed:  "nodeTaintsPolicy: Honor",
	CaughtBy: invariant.ReplacedWithin{},
	Reason:   judge.NoNode,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Zone, NodeTaintsPolicy: workloads.Ignore}}
	},
})
