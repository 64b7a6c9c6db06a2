package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
	"github.com/holdfast-ha/holdfast/workloads"
)

// AffinityPolicyIgnore counts nodes that the node selector excludes as domains.
var AffinityPolicyIgnore = scenario.Mutate(conformance.AffinityPolicyHonor, scenario.Mutation{
	Name:     "mutants/affinity-policy-ignore",
	Removed:  "nodeAffinityPolicy: Honor",
	CaughtBy: invariant.Placed{},
	Reason:   judge.NoNode,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Host, NodeAffinityPolicy: workloads.Ignore}}
		s.SchedulableReplicas = 2 // one per node: the nodes of other zones count as empty domains for ever
	},
})
