package mutants

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// SlowStart replaces lost pods, and takes too long to make them useful.
var SlowStart = scenario.Mutate(chaos.DeletePods, scenario.Mutation{
	Name:     "mutants/slow-start",
	Removed:  "a start that is faster than the recovery it promises",
	CaughtBy: invariant.RecoversWithin{},
	Break:    func(s *scenario.Spec) { s.Backend.StartDelay = 32 * time.Second }, // more than twice the limit of 15 s
})
