package mutants

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// SlowStart has its lost pods replaced, but the replacements take too long to become ready.
var SlowStart = scenario.Mutate(chaos.DeletePods, scenario.Mutation{
	Name:     "mutants/slow-start",
	Removed:  "a start that is faster than the promised recovery",
	CaughtBy: invariant.RecoversWithin{},
	// The limit is 45 s from the deletion, and no replacement is ready before 55 s.
	Break: func(s *scenario.Spec) { s.Backend.StartDelay, s.About = 55*time.Second, 125*time.Second },
})
