package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/scenario/manifests"
	"github.com/holdfast-ha/holdfast/suites/conformance"
)

// AuditWithoutAPatch applies all patches but one.
var AuditWithoutAPatch = scenario.Mutate(conformance.AuditMendsCarelessPods, scenario.Mutation{
	Name:     "mutants/audit-without-a-patch",
	Removed:  "the patch for the preStop sleep",
	CaughtBy: invariant.AuditMends{},
	Reason:   judge.NotMended,
	Break:    func(s *scenario.Spec) { s.Faults = []fault.Fault{manifests.ApplyAuditFixes{Leave: "no-prestop"}} },
})
