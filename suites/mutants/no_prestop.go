package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// NoPreStop ends pods while kube-proxy still sends them connections.
var NoPreStop = scenario.Mutate(chaos.RollingUpdate, scenario.Mutation{
	Name:     "mutants/no-prestop",
	Removed:  "a preStop sleep",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneFresh}, // a connection that is kept is asked off in order, preStop sleep or not
	Cause:    attribution.CauseLateEndpoint,
	Break: func(s *scenario.Spec) {
		s.Backend.PreStop = workloads.NoPreStop
		s.Backend.StartDelay = 0 // it is there for another mutant, and here its wait would show nothing
	},
})
