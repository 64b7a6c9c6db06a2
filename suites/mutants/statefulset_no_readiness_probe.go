package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// StatefulSetNoReadinessProbe goes on to the next pod before the last one listens.
var StatefulSetNoReadinessProbe = scenario.Mutate(chaos.StatefulSetRollingUpdate, scenario.Mutation{
	Name:     "mutants/statefulset-no-readiness-probe",
	Removed:  "a readiness probe for a StatefulSet that starts slowly",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneFresh}, // a pod that does not listen yet has no kept connections
	Cause:    attribution.CauseReadyTooEarly,
	Break:    func(s *scenario.Spec) { s.Backend.Readiness = workloads.NoReadiness },
})
