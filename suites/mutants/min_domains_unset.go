package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
	"github.com/holdfast-ha/holdfast/workloads"
)

// MinDomainsUnset crowds the existing zones.
var MinDomainsUnset = scenario.Mutate(conformance.MinDomains, scenario.Mutation{
	Name:     "mutants/min-domains-unset",
	Removed:  "minDomains",
	CaughtBy: invariant.Placed{},
	Reason:   judge.HasNodes,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Zone}}
		s.SchedulableReplicas = 0
	},
})
