package conformance

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/scenario/manifests"
	"github.com/holdfast-ha/holdfast/workloads"
)

// AuditMendsAntiAffinity has two more pods than there are zones, with anti-affinity that forbids two pods in one zone.
var AuditMendsAntiAffinity = scenario.Describe(scenario.Spec{
	Name: "conformance/audit-mends-anti-affinity",
	Claim: "`holdfast audit` finds that 5 replicas cannot be kept apart in 3 zones, and finds nothing once its patches are applied: " +
		"all replicas are scheduled",
	Backend: workloads.Backend{
		Replicas: 5, Spread: workloads.NoSpread, Affinity: []workloads.Affinity{{Key: workloads.Zone, Away: true}},
	},
	SchedulableReplicas: 3,
	Faults:              []fault.Fault{manifests.ApplyAuditFixes{}},
	Promises:            []invariant.Invariant{invariant.AuditMends{Rules: []string{"unmeetable-anti-affinity"}}},
	Full:                true,
})
