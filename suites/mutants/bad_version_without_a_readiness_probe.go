package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// BadVersionWithoutAReadinessProbe counts a pod as ready as soon as its process runs, so the update replaces every pod that
// serves by one that hangs.
var BadVersionWithoutAReadinessProbe = scenario.Mutate(chaos.RolloutThatNeverBecomesReady, scenario.Mutation{
	Name:     "mutants/bad-version-without-a-readiness-probe",
	Removed:  "a readiness probe that tells a bad version from a good one",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseReadyTooEarly,
	Break:    func(s *scenario.Spec) { s.Backend.Readiness = workloads.NoReadiness },
})
