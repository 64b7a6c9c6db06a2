package conformance

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
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
