package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// RolloutSpreadSurgeOf19 leaves the scheduler a choice at each step, because 19 + 1 is not divisible by 3. In 8 of 10 trials an
// update left two nodes two pods apart, which the constraint itself would not allow.
var RolloutSpreadSurgeOf19 = scenario.Describe(scenario.Spec{
	Name: "conformance/rollout-spread-surge-of-19",
	Claim: "without matchLabelKeys, most rolling updates of 19 replicas with maxSurge 1 leave 3 nodes at most two pods apart, one " +
		"more than maxSkew (19 + 1 is not divisible by 3)",
	Cluster: ThreeNodes,
	Backend: workloads.Backend{
		Replicas: 19, Spread: allRevisions, Strategy: oneSurge,
		PreStop:   workloads.NoPreStop,   // there is no load to protect
		Readiness: workloads.NoReadiness, // probing a hundred pods would leave too little CPU time to start them
	},
	Trials:   5,
	Faults:   []fault.Fault{fault.Rollout{}},
	Hold:     3 * time.Second, // so that the rollout is seen settled before its rollback
	Promises: []invariant.Invariant{invariant.SpreadTrials{TopologyKey: workloads.Host, Max: 2, Often: 0.5}},
	About:    8 * time.Minute,
	Full:     true,
})
