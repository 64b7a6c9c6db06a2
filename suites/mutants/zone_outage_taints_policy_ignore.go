package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ZoneOutageTaintsPolicyIgnore uses Kubernetes' default: the lost zone still counts as a domain, and keeps a third of the
// replicas pending for as long as it is away.
var ZoneOutageTaintsPolicyIgnore = scenario.Mutate(conformance.ZoneOutageTaintsPolicyHonor, scenario.Mutation{
	Name:     "mutants/zone-outage-taints-policy-ignore",
	Removed:  "nodeTaintsPolicy: Honor (the default is Ignore)",
	CaughtBy: invariant.ReplacedWithin{},
	Reason:   judge.NoNode,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Zone, NodeTaintsPolicy: workloads.Ignore}}
	},
})
