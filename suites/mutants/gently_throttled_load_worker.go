package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// gently is twice what the requests need, on any processor that was tried, but the worker uses it up for something else for 700 ms in
// every three seconds, and sends what was due then afterwards. With 110m and nothing else to do, a slow processor did not send every
// request, and a fast one was never late.
const gently = "250m"

// GentlyThrottledLoadWorker makes the load worker send every request, but some in bursts: an outage before a burst fails none.
// No request is missing, so holdfast must notice that requests were sent late. The workload itself is fine.
var GentlyThrottledLoadWorker = scenario.Mutate(chaos.RollingUpdate, scenario.Mutation{
	Name:     "mutants/gently-throttled-load-worker",
	Removed:  "processor time for the load worker to send each request when it is due",
	CaughtBy: invariant.NoFailedRequests{},
	Harness:  true,
	Doubt:    judge.DoubtStarvedWorker,
	Break: func(s *scenario.Spec) {
		s.LoadWorkers.CPU, s.LoadWorkers.Spin = gently, true
		s.Full = true
	},
})
