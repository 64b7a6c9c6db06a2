package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/conformance"
	"github.com/holdfast-ha/holdfast/workloads"
)

// AllOnOneNode draws every replica to the node of the first.
var AllOnOneNode = scenario.Mutate(conformance.ZoneAndNodeSpread, scenario.Mutation{
	Name:     "mutants/all-on-one-node",
	Removed:  "topology spread constraints",
	CaughtBy: invariant.Spread{Workload: "backend", TopologyKey: workloads.Zone, Max: 1},
	Reason:   judge.HasNodes,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = workloads.NoSpread
		s.Backend.Affinity = []workloads.Affinity{{Key: workloads.Host}}       // to its own pods: the second replica follows the first
		s.Faults, s.Hold = []fault.Fault{fault.Scale{Through: []int{2, 3}}}, 0 // the second replica already breaks the promise
	},
})
