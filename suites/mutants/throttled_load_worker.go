package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// throttled is less than the load worker needs for the requests of a scenario, and enough for each lane to send some: with 65m it sent
// 58 of 100, with 30m 5 of 100, and none of those that follow on one lane.
const throttled = "50m"

// ThrottledLoadWorker keeps the load worker from running most of the time. The workload itself is fine.
var ThrottledLoadWorker = scenario.Mutate(chaos.RollingUpdate, scenario.Mutation{
	Name:     "mutants/throttled-load-worker",
	Removed:  "processor time for the load worker",
	CaughtBy: invariant.NoFailedRequests{},
	Harness:  true,
	Doubt:    judge.DoubtStarvedWorker,
	Break: func(s *scenario.Spec) {
		s.LoadWorkers.CPU = throttled
		s.Full = true
	},
})
