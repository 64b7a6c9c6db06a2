package conformance

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/scenario/manifests"
	"github.com/holdfast-ha/holdfast/workloads"
)

// AuditMendsTaintedDomains has a replica that stays pending for ever, because tainted nodes that take no such pod count as
// empty domains.
var AuditMendsTaintedDomains = scenario.Describe(scenario.Spec{
	Name: "conformance/audit-mends-tainted-domains",
	Claim: "`holdfast audit` finds that tainted nodes count as domains and keep a replica pending, and finds nothing once its " +
		"patches are applied",
	Cluster: ThreeNodes,
	Backend: workloads.Backend{
		Replicas: 4, AnyNode: true, Spread: []workloads.Spread{{Key: workloads.Host, NodeTaintsPolicy: workloads.Ignore}},
	},
	SchedulableReplicas: 3, // one per worker
	Faults:              []fault.Fault{manifests.ApplyAuditFixes{}},
	Promises:            []invariant.Invariant{invariant.AuditMends{Rules: []string{"unusable-domain"}}},
	Full:                true,
})
