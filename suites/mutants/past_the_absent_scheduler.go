package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// PastTheAbsentScheduler sets spec.nodeName, so a new pod starts although there is no scheduler.
var PastTheAbsentScheduler = scenario.Mutate(chaos.SchedulerAway, scenario.Mutation{
	Name:     "mutants/past-the-absent-scheduler",
	Removed:  "the scheduler (spec.nodeName in the pod template)",
	CaughtBy: invariant.Resumes{},
	Reason:   judge.PastScheduler,
	Break:    func(s *scenario.Spec) { s.PinTo, s.Backend.PastScheduler = 1, true },
})
