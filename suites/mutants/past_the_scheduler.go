package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
)

// PastTheScheduler has the same constraints, and a spec.nodeName: nothing checks the constraints of pods that bypass the
// scheduler.
var PastTheScheduler = scenario.Mutate(conformance.LegalPlacement, scenario.Mutation{
	Name:     "mutants/past-the-scheduler",
	Removed:  "the scheduler (spec.nodeName in the pod template)",
	CaughtBy: invariant.Placement{},
	Reason:   judge.PastScheduler,
	Break:    func(s *scenario.Spec) { s.PinTo, s.Backend.PastScheduler = 1, true },
})
