package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// MinimumPerNode is a rule of thumb for workloads that always need a minimum of pods on every node:
// replicas = nodes x (minimum + maxSkew) - maxSurge, here 3 x (3 + 1) - 1. It is no guarantee: in one of 18 trials a node had five of the
// new pods, and the Deployment controller removed the old ones of the others until one had two.
var MinimumPerNode = scenario.Describe(scenario.Spec{
	Name:    "conformance/minimum-per-node",
	Claim:   "11 replicas, maxSkew 1 and maxSurge 1 mostly keep at least 3 ready pods on each of 3 nodes through a rolling update",
	Cluster: ThreeNodes,
	Backend: workloads.Backend{
		Replicas: 11, Spread: allRevisions, Strategy: oneSurge,
		PreStop:   workloads.NoPreStop,   // there is no load to protect
		Readiness: workloads.NoReadiness, // probing a hundred pods would leave too little CPU time to start them
	},
	Trials:   6,
	Faults:   []fault.Fault{fault.Rollout{}},
	Hold:     3 * time.Second, // so that the rollout is seen settled before its rollback
	Promises: []invariant.Invariant{invariant.PerDomain{TopologyKey: workloads.Host, AtLeast: 3, Often: 1.0 / 3}},
	About:    3 * time.Minute,
	Full:     true,
})
