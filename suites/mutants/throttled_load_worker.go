package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// throttled is less CPU than the load worker needs for the requests of a scenario, and enough for it to start within seconds.
const throttled = "30m"

// ThrottledLoadWorker keeps the load worker from running most of the time. The workload itself is fine.
var ThrottledLoadWorker = scenario.Mutate(chaos.RollingUpdate, scenario.Mutation{
	Name:     "mutants/throttled-load-worker",
	Removed:  "processor time for the load worker",
	CaughtBy: invariant.NoFailedRequests{},
	Harness:  true,
	Doubt:    invariant.DoubtStarvedWorker,
	Break: func(s *scenario.Spec) {
		s.LoadCPU = throttled
		s.Full = true
	},
})
