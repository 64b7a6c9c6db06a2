package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// RolloutSpreadSurgeDivides goes without matchLabelKeys, where each step should have one place left: 20 replicas and one more
// are 7 on each of 3 nodes, so the new pod can only take the place of an old one. Guides promise a skew of 1 of it. It was
// seen to be 2 in one of 5 trials, and 3 in one of 5 others: the old and the new ReplicaSet are synced independently, and on
// a busy machine a new pod was placed before the old one was deleted.
var RolloutSpreadSurgeDivides = scenario.Describe(scenario.Spec{
	Name:    "conformance/rollout-spread-surge-divides",
	Claim:   "without matchLabelKeys, most rolling updates of 20 replicas with maxSurge 1 leave 3 nodes at most one pod apart (guides say all, for 20 + 1 divides by 3)",
	Cluster: ThreeNodes,
	Backend: workloads.Backend{
		Replicas: 20, Spread: allRevisions, Strategy: oneSurge,
		PreStop:   workloads.NoPreStop,   // there is no load to protect
		Readiness: workloads.NoReadiness, // probes of a hundred pods would keep the processors from starting them
	},
	Trials:   5,
	Faults:   []fault.Fault{fault.Rollout{}},
	Hold:     3 * time.Second, // what the rollout left has to be seen settled before it is rolled back
	Promises: []invariant.Invariant{invariant.SpreadTrials{TopologyKey: workloads.Host, Max: 1, Often: 0.5}},
	About:    5 * time.Minute,
	Full:     true,
})
