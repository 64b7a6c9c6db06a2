package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
)

// PolicyForDeploymentsAlone refuses whom it knows, and a StatefulSet goes past it.
var PolicyForDeploymentsAlone = scenario.Mutate(conformance.CriticalNeedsAHardZoneConstraint, scenario.Mutation{
	Name:     "mutants/policy-for-deployments-alone",
	Removed:  "StatefulSets among what the policy binds",
	CaughtBy: invariant.PolicyEnforced{},
	Break:    func(s *scenario.Spec) { s.Faults = []fault.Fault{fault.Enforce{DeploymentsOnly: true}} },
})
