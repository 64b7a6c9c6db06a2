package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/scenario/manifests"
	"github.com/holdfast-ha/holdfast/suites/conformance"
)

// PolicyForDeploymentsAlone refuses Deployments only, so a bad StatefulSet is accepted.
var PolicyForDeploymentsAlone = scenario.Mutate(conformance.CriticalNeedsAHardZoneConstraint, scenario.Mutation{
	Name:     "mutants/policy-for-deployments-alone",
	Removed:  "StatefulSets in the scope of the policy",
	CaughtBy: invariant.PolicyEnforced{},
	Reason:   judge.Admitted,
	Break:    func(s *scenario.Spec) { s.Faults = []fault.Fault{manifests.ApplyPolicy{DeploymentsOnly: true}} },
})
