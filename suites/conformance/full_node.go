package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// twoNodes is the smallest cluster in which replicas can crowd on one node.
var twoNodes = clusters.Spec{Zones: []string{"a", "b"}, WorkersPerZone: 1}

// fillThenScale leaves no room on the first worker, which has one of two replicas, and adds four replicas.
var fillThenScale = []fault.Fault{fault.FillNode{Worker: 1}, fault.Scale{Through: []int{6}}}

// FullNodeHardSpread keeps replicas apart at the price of pending ones: DoNotSchedule guarantees the balance, not that all
// replicas are scheduled. ScheduleAnyway guarantees the opposite; see FullNodeSoftSpread.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#spread-constraint-definition
var FullNodeHardSpread = scenario.Describe(scenario.Spec{
	Name: "conformance/full-node-hard-spread",
	Claim: "with DoNotSchedule over 2 nodes of which one is full, scaling from 2 to 6 replicas never puts the nodes more than one pod " +
		"apart: one new pod is scheduled on the other node, 1-2, and 3 stay pending",
	Cluster:             twoNodes,
	Backend:             workloads.Backend{Replicas: 2, Spread: eachNode},
	SchedulableReplicas: 3,
	Faults:              fillThenScale,
	Hold:                3 * time.Second, // to see that pending pods stay pending
	Promises: []invariant.Invariant{
		invariant.Spread{Workload: "backend", TopologyKey: workloads.Host, Max: 1, Waiting: true},
		invariant.Placed{Workload: "backend", Pending: 3},
	},
	Full: true,
})

// SpreadAnyway crowds the node that has room, and nothing reports it.
var SpreadAnyway = scenario.Mutate(FullNodeHardSpread, scenario.Mutation{
	Name:     "mutants/spread-anyway",
	Removed:  "DoNotSchedule (ScheduleAnyway instead)",
	CaughtBy: invariant.Spread{},
	Reason:   judge.HasNodes,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Host, Unsatisfiable: workloads.ScheduleAnyway}}
		s.SchedulableReplicas = 0 // there is always some place
	},
})

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
