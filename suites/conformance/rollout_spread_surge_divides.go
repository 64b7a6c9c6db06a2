package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// RolloutSpreadSurgeDivides works without matchLabelKeys. Each step should leave one place only: 20 replicas and one surge pod
// are 7 on each of 3 nodes, so a new pod can only take the place of an old one. Guides therefore promise a skew of 1. The
// observed skew was 2 in one of 5 trials, and 3 in one of 5 others: the old and the new ReplicaSet are synced independently,
// and on a busy machine a new pod was placed before the old one was deleted.
var RolloutSpreadSurgeDivides = scenario.Describe(scenario.Spec{
	Name: "conformance/rollout-spread-surge-divides",
	Claim: "without matchLabelKeys, most rolling updates of 20 replicas with maxSurge 1 leave 3 nodes at most one pod apart (guides " +
		"say all do, because 20 + 1 is divisible by 3)",
	Cluster: ThreeNodes,
	Backend: workloads.Backend{
		Replicas: 20, Spread: allRevisions, Strategy: oneSurge,
		PreStop:   workloads.NoPreStop,   // there is no load to protect
		Readiness: workloads.NoReadiness, // probing a hundred pods would leave too little CPU time to start them
	},
	Trials:   5,
	Faults:   []fault.Fault{fault.Rollout{}},
	Hold:     3 * time.Second, // so that the rollout is seen settled before its rollback
	Promises: []invariant.Invariant{invariant.SpreadTrials{TopologyKey: workloads.Host, Max: 1, Often: 0.5}},
	About:    5 * time.Minute,
	Full:     true,
})
