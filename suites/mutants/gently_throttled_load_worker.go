package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// gently is about the CPU quota that the load worker needs: with 30m it sent 47 of 100 requests, so all of them take 64m. The
// requests due in a quota period of 100 ms are then sent at its beginning, and none in the rest of it.
const gently = "65m"

// GentlyThrottledLoadWorker makes the load worker send every request, but in bursts: an outage between two bursts fails none.
// No request is missing, so holdfast must notice that requests were sent late. The workload itself is fine.
var GentlyThrottledLoadWorker = scenario.Mutate(chaos.RollingUpdate, scenario.Mutation{
	Name:     "mutants/gently-throttled-load-worker",
	Removed:  "processor time for the load worker to send each request when it is due",
	CaughtBy: invariant.NoFailedRequests{},
	Harness:  true,
	Doubt:    invariant.DoubtStarvedWorker,
	Break: func(s *scenario.Spec) {
		s.LoadCPU = gently
		s.Full = true
	},
})
