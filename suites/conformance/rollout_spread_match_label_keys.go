package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ThreeNodes is the cluster of the claims that count nodes.
var ThreeNodes = clusters.Spec{Zones: []string{"a", "b", "c"}, WorkersPerZone: 1}

// oneSurge updates pod by pod: a new pod first, then an old one goes.
var oneSurge = workloads.Strategy{MaxSurge: "1", MaxUnavailable: "0"}

// eachNode spreads each revision's pods over nodes; allRevisions counts old and new pods together.
var (
	eachNode     = []workloads.Spread{{Key: workloads.Host}}
	allRevisions = []workloads.Spread{{Key: workloads.Host, MatchLabelKeys: []string{}}}
)

// RolloutSpreadMatchLabelKeys requires that a rolling update leaves its pods as evenly spread as before.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#topologyspreadconstraints-field
var RolloutSpreadMatchLabelKeys = scenario.Describe(scenario.Spec{
	Name:    "conformance/rollout-spread-match-label-keys",
	Claim:   "with matchLabelKeys: [pod-template-hash] a rolling update of 7 replicas leaves 3 nodes at most one pod apart, every time",
	Cluster: ThreeNodes,
	Backend: workloads.Backend{
		Replicas: 7, Spread: eachNode,
		PreStop:   workloads.NoPreStop,   // there is no load to protect
		Readiness: workloads.NoReadiness, // probing a hundred pods would leave too little CPU time to start them
	},
	Trials:   12,
	Faults:   []fault.Fault{fault.Rollout{}},
	Hold:     3 * time.Second, // so that the rollout is seen settled before its rollback
	Promises: []invariant.Invariant{invariant.SpreadTrials{TopologyKey: workloads.Host, Max: 1}},
	About:    2 * time.Minute,
	Full:     true,
})
