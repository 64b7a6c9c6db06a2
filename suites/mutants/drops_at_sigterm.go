package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// DropsAtSIGTERM exits at once: what is on its connections is lost.
var DropsAtSIGTERM = scenario.Mutate(chaos.DeletePods, scenario.Mutation{
	Name:     "mutants/drops-at-sigterm",
	Removed:  "finishing the requests in flight at SIGTERM",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    invariant.CauseCutAtSIGTERM,
	Break:    func(s *scenario.Spec) { s.Backend.AtTerm = workloads.Drop },
})
