package conformance

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/scenario/manifests"
	"github.com/holdfast-ha/holdfast/workloads"
)

// AuditMendsCarelessPods has what people leave out of their manifests. The audit's patches are applied one after the other,
// each by a rollout of its own.
var AuditMendsCarelessPods = scenario.Describe(scenario.Spec{
	Name: "conformance/audit-mends-careless-pods",
	Claim: "`holdfast audit` finds that a workload has no budget, no readiness probe, no preStop sleep and no matchLabelKeys, and " +
		"finds nothing once its patches are applied",
	Backend: workloads.Backend{
		Budget: workloads.NoBudget, Readiness: workloads.NoReadiness, PreStop: workloads.NoPreStop,
		Spread: []workloads.Spread{{Key: workloads.Zone, MatchLabelKeys: []string{}}},
	},
	Faults:   []fault.Fault{manifests.ApplyAuditFixes{}},
	Promises: []invariant.Invariant{invariant.AuditMends{Rules: []string{"no-budget", "no-readiness-probe", "no-prestop", "no-match-label-keys"}}},
	Full:     true,
})
