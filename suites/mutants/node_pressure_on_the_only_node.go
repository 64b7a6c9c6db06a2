package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// NodePressureOnTheOnlyNode has all its replicas on the node under pressure, and they may run on no other.
var NodePressureOnTheOnlyNode = scenario.Mutate(chaos.NodePressure, scenario.Mutation{
	Name:     "mutants/node-pressure-on-the-only-node",
	Removed:  "spreading over several nodes",
	CaughtBy: invariant.PressureLeaves{},
	Reason:   judge.OneNode,
	Break:    func(s *scenario.Spec) { s.Backend.Spread, s.PinTo = workloads.NoSpread, 1 },
})
