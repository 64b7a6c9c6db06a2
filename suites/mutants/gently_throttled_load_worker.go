package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// gently is about what the load worker needs: with 65m of a processor it sent 58 of 100 requests, so that all of them take 110m. What
// is due in a tenth of a second, the period of a quota, is then sent at its beginning, and nothing for the rest of it.
const gently = "110m"

// GentlyThrottledLoadWorker makes the load worker send every request, but in bursts: an outage between two bursts fails none.
// No request is missing, so holdfast must notice that requests were sent late. The workload itself is fine.
var GentlyThrottledLoadWorker = scenario.Mutate(chaos.RollingUpdate, scenario.Mutation{
	Name:     "mutants/gently-throttled-load-worker",
	Removed:  "processor time for the load worker to send each request when it is due",
	CaughtBy: invariant.NoFailedRequests{},
	Harness:  true,
	Doubt:    judge.DoubtStarvedWorker,
	Break: func(s *scenario.Spec) {
		s.LoadWorkers.CPU = gently
		s.Full = true
	},
})
