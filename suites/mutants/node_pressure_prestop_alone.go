package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// NodePressurePreStopAlone has the preStop sleep and the grace period with which a drain or a rollout loses no request. In a
// soft eviction, clients keep connecting to the pod during the sleep, and then the server stops listening.
var NodePressurePreStopAlone = scenario.Mutate(chaos.NodePressureSoft, scenario.Mutation{
	Name:     "mutants/node-pressure-prestop-alone",
	Removed:  "a gateway with health checks and retries",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneFresh}, // kept connections are closed gracefully before their pod ends
	Cause:    attribution.CausePressure,
	Break:    func(s *scenario.Spec) { s.Gateway = nil },
})
