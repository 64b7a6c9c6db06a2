package mutants

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// SlowStart has its lost pods replaced, but the replacements take too long to become ready.
var SlowStart = scenario.Mutate(chaos.DeletePods, scenario.Mutation{
	Name:     "mutants/slow-start",
	Removed:  "a start that is faster than the promised recovery",
	CaughtBy: invariant.RecoversWithin{},
	Reason:   judge.StartsLate,
	// The limit is 15 s from the deletion, and no replacement is ready before 28 s.
	Break: func(s *scenario.Spec) { s.Backend.StartDelay, s.About = 28*time.Second, 70*time.Second },
})
