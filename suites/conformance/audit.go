package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/scenario/manifests"
	"github.com/holdfast-ha/holdfast/workloads"
)

// AuditMendsABudgetOfAll has a budget of 100 %, with which no drain would ever end.
var AuditMendsABudgetOfAll = scenario.Describe(scenario.Spec{
	Name:     "conformance/audit-mends-a-budget-of-all",
	Claim:    "`holdfast audit` finds that a budget blocks every drain, and finds nothing once its patches are applied",
	Backend:  workloads.Backend{Budget: workloads.Budget{MinAvailable: "100%"}},
	Faults:   []fault.Fault{manifests.ApplyAuditFixes{}},
	Promises: []invariant.Invariant{invariant.AuditMends{Rules: []string{"budget-blocks-drains"}}},
	Full:     true,
})

// AuditMendsASingleReplica has the audit's patch add a second replica on another node.
var AuditMendsASingleReplica = scenario.Describe(scenario.Spec{
	Name:     "conformance/audit-mends-a-single-replica",
	Claim:    "`holdfast audit` finds that a workload has a single replica, and finds nothing once its patches are applied",
	Backend:  workloads.Backend{Replicas: 1},
	Faults:   []fault.Fault{manifests.ApplyAuditFixes{}},
	Promises: []invariant.Invariant{invariant.AuditMends{Rules: []string{"single-replica"}}},
	Full:     true,
})

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

// AuditWithoutAPatch applies all patches but one.
var AuditWithoutAPatch = scenario.Mutate(AuditMendsCarelessPods, scenario.Mutation{
	Name:     "mutants/audit-without-a-patch",
	Removed:  "the patch for the preStop sleep",
	CaughtBy: invariant.AuditMends{},
	Reason:   judge.NotMended,
	Break:    func(s *scenario.Spec) { s.Faults = []fault.Fault{manifests.ApplyAuditFixes{Leave: "no-prestop"}} },
})

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

// PolicyForDeploymentsAlone refuses Deployments only, so a bad StatefulSet is accepted.
var PolicyForDeploymentsAlone = scenario.Mutate(CriticalNeedsAHardZoneConstraint, scenario.Mutation{
	Name:     "mutants/policy-for-deployments-alone",
	Removed:  "StatefulSets in the scope of the policy",
	CaughtBy: invariant.PolicyEnforced{},
	Reason:   judge.Admitted,
	Break:    func(s *scenario.Spec) { s.Faults = []fault.Fault{manifests.ApplyPolicy{DeploymentsOnly: true}} },
})
