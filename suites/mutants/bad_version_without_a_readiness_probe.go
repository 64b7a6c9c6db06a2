package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// BadVersionWithoutAReadinessProbe takes a process that runs for a server that serves, and replaces all that do.
var BadVersionWithoutAReadinessProbe = scenario.Mutate(chaos.RolloutThatNeverBecomesReady, scenario.Mutation{
	Name:     "mutants/bad-version-without-a-readiness-probe",
	Removed:  "a readiness probe that tells a bad version from a good one",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseReadyTooEarly,
	Break:    func(s *scenario.Spec) { s.Backend.Readiness = workloads.NoReadiness },
})
