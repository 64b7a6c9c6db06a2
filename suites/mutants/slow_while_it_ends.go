package mutants

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// SlowWhileItEnds answers every request to the end, but slowly on its open connections after SIGTERM, like a server that closes
// its caches and its own connections first. No client times out.
var SlowWhileItEnds = scenario.Mutate(chaos.DeletePods, scenario.Mutation{
	Name:     "mutants/slow-while-it-ends",
	Removed:  "answering at the usual speed until the end",
	CaughtBy: invariant.AnswersWithin{},
	Reason:   judge.SlowEnding,
	Lanes:    []history.Lane{history.LaneReused}, // new connections no longer reach the pod
	Break: func(s *scenario.Spec) {
		s.Backend.EndingTime = 2500 * time.Millisecond // clients wait for 3 s
	},
})
