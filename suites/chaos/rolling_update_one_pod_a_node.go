package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// RollingUpdateOnePodANode has a pod on each node, and room for one on each. A rolling update can only end an old pod before it starts a
// new one.
//
// Source: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#max-unavailable
var RollingUpdateOnePodANode = scenario.Describe(scenario.Spec{
	Name:    "chaos/rolling-update-one-pod-a-node",
	Claim:   "with maxUnavailable 1, a rolling update of pods that must not share a node comes to its end although each node has one, and so does its rollback",
	Cluster: twoNodes,
	Backend: workloads.Backend{
		Replicas: 2, Spread: workloads.NoSpread, Affinity: []workloads.Affinity{{Key: workloads.Host, Away: true}},
		Strategy: workloads.Strategy{MaxSurge: "0", MaxUnavailable: "1"},
	},
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.TryRollout{}},
	Promises: []invariant.Invariant{invariant.RolloutCompletes{}, invariant.NoFailedRequests{}},
	About:    time.Minute,
	Full:     true,
})
