package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// FullNodeSoftSpread places every replica, and says nothing when that takes all of them to one node: here 1-5. Nothing is
// pending, no event tells of it, and nothing moves back when there is room again.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#spread-constraint-definition
var FullNodeSoftSpread = scenario.Describe(scenario.Spec{
	Name:    "conformance/full-node-soft-spread",
	Claim:   "with ScheduleAnyway over 2 nodes of which one is full, all of 6 replicas have a node, though 5 of them the same one",
	Cluster: twoNodes,
	Backend: workloads.Backend{
		Replicas: 2, Spread: []workloads.Spread{{Key: workloads.Host, Unsatisfiable: workloads.ScheduleAnyway}},
	},
	Faults: fillThenScale,
	Hold:   3 * time.Second, // the last step has to be seen settled, too
	Promises: []invariant.Invariant{
		invariant.Placed{Workload: "backend"},
		invariant.Spread{Workload: "backend", TopologyKey: workloads.Host, Max: 4},
	},
	Full: true,
})
