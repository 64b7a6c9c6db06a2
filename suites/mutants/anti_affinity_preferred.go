package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
	"github.com/holdfast-ha/holdfast/workloads"
)

// AntiAffinityPreferred places all replicas: a preference yields when there is no other place.
var AntiAffinityPreferred = scenario.Mutate(conformance.AntiAffinityRequired, scenario.Mutation{
	Name:     "mutants/anti-affinity-preferred",
	Removed:  "required anti-affinity (preferred instead)",
	CaughtBy: invariant.Placed{},
	Reason:   judge.HasNodes,
	Break: func(s *scenario.Spec) {
		s.Backend.Affinity = []workloads.Affinity{{Key: workloads.Zone, Away: true, Weight: 100}}
		s.SchedulableReplicas = 0
	},
})
