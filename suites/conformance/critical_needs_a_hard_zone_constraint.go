package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/scenario/manifests"
	"github.com/holdfast-ha/holdfast/workloads"
)

// CriticalNeedsAHardZoneConstraint tries good and bad manifests against the policy that the audit emits.
//
// Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
var CriticalNeedsAHardZoneConstraint = scenario.Describe(scenario.Spec{
	Name: "conformance/critical-needs-a-hard-zone-constraint",
	Claim: "with the policy that holdfast audit --emit policy writes, the API server refuses each critical Deployment and StatefulSet " +
		"without a hard constraint over zones that counts its own pods, and nothing else",
	Backend: workloads.Backend{Replicas: 3, PreStop: workloads.NoPreStop}, // there is no load to protect
	Steady:  before, Recovered: after,
	Faults:   []fault.Fault{manifests.ApplyPolicy{}},
	Promises: []invariant.Invariant{invariant.PolicyEnforced{}},
	About:    10 * time.Second,
	Full:     true,
})
