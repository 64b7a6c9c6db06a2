package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// NoPreStop ends pods while kube-proxy still sends them connections.
var NoPreStop = scenario.Mutate(chaos.RollingUpdate, scenario.Mutation{
	Name:     "mutants/no-prestop",
	Removed:  "a preStop sleep",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneFresh}, // kept connections are closed gracefully, with or without a preStop sleep
	Cause:    attribution.CauseLateEndpoint,
	Break: func(s *scenario.Spec) {
		s.Backend.PreStop = workloads.NoPreStop
		s.Backend.StartDelay = 0 // only mutants/no-readiness-probe needs it
	},
})
