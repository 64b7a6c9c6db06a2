package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// RolloutSpreadOf20 is the same with more replicas and the default surge of a quarter of them.
var RolloutSpreadOf20 = scenario.Describe(scenario.Spec{
	Name:    "conformance/rollout-spread-of-20",
	Claim:   "with matchLabelKeys a rolling update of 20 replicas, maxSurge 25 %, leaves 3 nodes at most one pod apart, every time",
	Cluster: ThreeNodes,
	Backend: workloads.Backend{
		Replicas: 20, Spread: eachNode,
		PreStop:   workloads.NoPreStop,   // there is no load to protect
		Readiness: workloads.NoReadiness, // probes of a hundred pods would keep the processors from starting them
	},
	Trials:   5,
	Faults:   []fault.Fault{fault.Rollout{}},
	Hold:     3 * time.Second, // what the rollout left has to be seen settled before it is rolled back
	Promises: []invariant.Invariant{invariant.SpreadTrials{TopologyKey: workloads.Host, Max: 1}},
	About:    4 * time.Minute,
	Full:     true,
})
