package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// ConnectionsNeverEnd scales out for nothing: every request still goes to one of the three old pods.
var ConnectionsNeverEnd = scenario.Mutate(chaos.NewPodsShareTheLoad, scenario.Mutation{
	Name:     "mutants/connections-never-end",
	Removed:  "closing connections after a number of requests",
	CaughtBy: invariant.SharesLoad{},
	Reason:   judge.AllReady,
	Break:    func(s *scenario.Spec) { s.Backend.CloseAfter = 0 },
})
