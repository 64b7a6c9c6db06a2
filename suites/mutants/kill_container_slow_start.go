package mutants

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// KillContainerSlowStart has the killed container started again, but it takes too long to become ready.
var KillContainerSlowStart = scenario.Mutate(chaos.KillOneContainer, scenario.Mutation{
	Name:     "mutants/kill-container-slow-start",
	Removed:  "a start that is faster than the promised recovery from a crash",
	CaughtBy: invariant.RecoversWithin{},
	Reason:   judge.StartsLate,
	// The limit is 15 s from the kill, and the container is not ready before 28 s.
	Break: func(s *scenario.Spec) { s.Backend.StartDelay, s.About = 28*time.Second, 2*time.Minute },
})
