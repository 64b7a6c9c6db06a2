package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// FullNodeSoftSpread places every replica, even if all new ones go to the same node: here 1-5. Nothing is pending, no event
// reports it, and no pod moves back when there is room again.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#spread-constraint-definition
var FullNodeSoftSpread = scenario.Describe(scenario.Spec{
	Name:    "conformance/full-node-soft-spread",
	Claim:   "with ScheduleAnyway over 2 nodes of which one is full, all 6 replicas are scheduled, though 5 of them on the same node",
	Cluster: twoNodes,
	Backend: workloads.Backend{
		Replicas: 2, Spread: []workloads.Spread{{Key: workloads.Host, Unsatisfiable: workloads.ScheduleAnyway}},
	},
	Faults: fillThenScale,
	Hold:   3 * time.Second, // so that the last step is seen settled, too
	Promises: []invariant.Invariant{
		invariant.Placed{Workload: "backend"},
		invariant.Spread{Workload: "backend", TopologyKey: workloads.Host, Max: 4},
	},
	Full: true,
})
