package scale

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Rollout updates a workload in the middle of a large cluster.
var Rollout = scenario.Describe(scenario.Spec{
	Name: "scale/rollout",
	Claim: "a rolling update and its rollback among 1,000 pods on 100 simulated nodes place each pod by the rules, leave the zones at most one pod " +
		"apart, and are invisible to the clients of a workload beside it",
	Cluster:   Large,
	Simulated: among(),
	Load:      scenario.DefaultLoad,
	Faults:    []fault.Fault{fault.Rollout{}},
	Promises: []invariant.Invariant{
		invariant.Placement{Workload: scenario.SimulatedName},
		invariant.Spread{Workload: scenario.SimulatedName, TopologyKey: workloads.Zone, Max: 1},
		invariant.RecoversWithin{Workload: scenario.SimulatedName, Limit: recovery},
		invariant.NoFailedRequests{},
	},
	About: 3 * time.Minute,
	Full:  true,
})
