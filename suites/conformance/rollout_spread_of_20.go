package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// RolloutSpreadOf20 is RolloutSpreadMatchLabelKeys with 20 replicas and the default maxSurge of 25 %.
var RolloutSpreadOf20 = scenario.Describe(scenario.Spec{
	Name:    "conformance/rollout-spread-of-20",
	Claim:   "with matchLabelKeys a rolling update of 20 replicas, maxSurge 25 %, leaves 3 nodes at most one pod apart, every time",
	Cluster: ThreeNodes,
	Backend: workloads.Backend{
		Replicas: 20, Spread: eachNode,
		PreStop:   workloads.NoPreStop,   // there is no load to protect
		Readiness: workloads.NoReadiness, // probing a hundred pods would leave too little CPU time to start them
	},
	Trials:   5,
	Faults:   []fault.Fault{fault.Rollout{}},
	Hold:     3 * time.Second, // so that the rollout is seen settled before its rollback
	Promises: []invariant.Invariant{invariant.SpreadTrials{TopologyKey: workloads.Host, Max: 1}},
	About:    8 * time.Minute,
	Full:     true,
})
