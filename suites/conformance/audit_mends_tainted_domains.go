package conformance

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// AuditMendsTaintedDomains has a replica that waits for ever, because nodes that take none of its kind count as empty.
var AuditMendsTaintedDomains = scenario.Describe(scenario.Spec{
	Name:    "conformance/audit-mends-tainted-domains",
	Claim:   "`holdfast audit` finds that tainted nodes count as domains and keep a replica pending, and nothing once its patches are applied",
	Cluster: ThreeNodes,
	Backend: workloads.Backend{
		Replicas: 4, AnyNode: true, Spread: []workloads.Spread{{Key: workloads.Host, NodeTaintsPolicy: workloads.Ignore}},
	},
	Room:     3, // one a worker
	Faults:   []fault.Fault{fault.Mend{}},
	Promises: []invariant.Invariant{invariant.AuditMends{Rules: []string{"unusable-domain"}}},
	Full:     true,
})
