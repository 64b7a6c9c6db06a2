package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
	"github.com/holdfast-ha/holdfast/workloads"
)

// TaintsPolicyIgnore uses Kubernetes' default.
var TaintsPolicyIgnore = scenario.Mutate(conformance.TaintsPolicyHonor, scenario.Mutation{
	Name:     "mutants/taints-policy-ignore",
	Removed:  "nodeTaintsPolicy: Honor (the default is Ignore)",
	CaughtBy: invariant.Placed{},
	Reason:   judge.NoNode,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Host, NodeTaintsPolicy: workloads.Ignore}}
		s.SchedulableReplicas = 3 // one per worker: the tainted nodes count as empty domains for ever
	},
})
