package mutants

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// SlowWhileItEnds answers every request to the last, and those that come on its open connections after SIGTERM slowly, as a
// server does that closes its caches and its own connections first. No client gives up on it.
var SlowWhileItEnds = scenario.Mutate(chaos.DeletePods, scenario.Mutation{
	Name:     "mutants/slow-while-it-ends",
	Removed:  "answering as fast as ever until the end",
	CaughtBy: invariant.AnswersWithin{},
	Lanes:    []history.Lane{history.LaneReused}, // a new connection finds no such pod any more
	Break: func(s *scenario.Spec) {
		s.Backend.EndingTime = 2500 * time.Millisecond // clients wait for 3 s
	},
})
