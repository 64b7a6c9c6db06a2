package conformance

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/scenario/manifests"
	"github.com/holdfast-ha/holdfast/workloads"
)

// AuditMendsASingleReplica has the audit's patch add a second replica on another node.
var AuditMendsASingleReplica = scenario.Describe(scenario.Spec{
	Name:     "conformance/audit-mends-a-single-replica",
	Claim:    "`holdfast audit` finds that a workload has a single replica, and finds nothing once its patches are applied",
	Backend:  workloads.Backend{Replicas: 1},
	Faults:   []fault.Fault{manifests.ApplyAuditFixes{}},
	Promises: []invariant.Invariant{invariant.AuditMends{Rules: []string{"single-replica"}}},
	Full:     true,
})
