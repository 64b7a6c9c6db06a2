package scale

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Large is a cluster with two real workers and 100 simulated nodes in three zones of their own.
var Large = clusters.Spec{Zones: []string{"a"}, WorkersPerZone: 2, SimulatedNodes: 100}

// replicas is so large that each zone has pods of the workload, and smaller than the number of nodes.
const replicas = 60

// among is the workload among the pods that fill the simulated nodes. It has good practice: an even spread over zones that is required, one
// over nodes that is preferred, and a budget of one.
func among() *scenario.Simulated {
	return &scenario.Simulated{Backend: workloads.Backend{Replicas: replicas}, Pods: 1000}
}

// recovery is how soon 60 replicas are whole again: kwok reports a pod ready after two seconds at the latest.
const recovery = time.Minute

// Rollout updates a workload in the middle of a large cluster.
var Rollout = scenario.Describe(scenario.Spec{
	Name: "scale/rollout",
	Claim: "a rolling update and its rollback among many pods on simulated nodes place each pod by the rules, leave the zones at most one pod " +
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

// NoSpreadAtScale has pods that prefer each other's zone, and nothing that keeps them apart. Without the preference the spread that the
// scheduler prefers by itself kept 60 replicas even.
var NoSpreadAtScale = scenario.Mutate(Rollout, scenario.Mutation{
	Name:     "mutants/no-spread-at-scale",
	Removed:  "a topology spread constraint on pods that prefer each other's zone",
	CaughtBy: invariant.Spread{},
	Reason:   judge.HasNodes,
	Break: func(s *scenario.Spec) {
		s.Simulated.Backend.Spread = workloads.NoSpread
		s.Simulated.Backend.Affinity = []workloads.Affinity{{Key: workloads.Zone, Weight: 100}}
	},
})
