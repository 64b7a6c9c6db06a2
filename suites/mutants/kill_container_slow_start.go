package mutants

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// KillContainerSlowStart has the killed container started again, but it takes too long to become ready.
var KillContainerSlowStart = scenario.Mutate(chaos.KillOneContainer, scenario.Mutation{
	Name:     "mutants/kill-container-slow-start",
	Removed:  "a start that is faster than the promised recovery from a crash",
	CaughtBy: invariant.RecoversWithin{},
	// The limit is 45 s from the kill, and the container is not ready before 58 s.
	Break: func(s *scenario.Spec) { s.Backend.StartDelay, s.About = 58*time.Second, 3*time.Minute },
})
