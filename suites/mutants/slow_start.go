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
	// The limit is 15 s from the deletion, and no replacement is useful before 28 s.
	Break: func(s *scenario.Spec) { s.Backend.StartDelay, s.About = 28*time.Second, 70*time.Second },
})
