package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// NoDescheduler shows that nothing else brings the pods back.
var NoDescheduler = scenario.Mutate(chaos.DeschedulerRestoresTheSpread, scenario.Mutation{
	Name:     "mutants/no-descheduler",
	Removed:  "a Descheduler",
	CaughtBy: invariant.SpreadWithin{},
	Reason:   judge.HasNodes,
	Break:    func(s *scenario.Spec) { s.Addons = nil },
})
