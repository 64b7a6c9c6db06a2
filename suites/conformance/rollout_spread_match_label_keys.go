package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ThreeNodes is the cluster of the claims that count nodes.
var ThreeNodes = clusters.Spec{Zones: []string{"a", "b", "c"}, WorkersPerZone: 1}

// oneSurge rolls pod by pod: a new one first, then an old one goes.
var oneSurge = workloads.Strategy{MaxSurge: "1", MaxUnavailable: "0"}

// eachNode spreads a rollout's pods over nodes among themselves; allRevisions counts old and new pods together.
var (
	eachNode     = []workloads.Spread{{Key: workloads.Host}}
	allRevisions = []workloads.Spread{{Key: workloads.Host, MatchLabelKeys: []string{}}}
)

// RolloutSpreadMatchLabelKeys asks of a rolling update that the pods it leaves behind are as even as the ones it found.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#topologyspreadconstraints-field
var RolloutSpreadMatchLabelKeys = scenario.Describe(scenario.Spec{
	Name:    "conformance/rollout-spread-match-label-keys",
	Claim:   "with matchLabelKeys: [pod-template-hash] a rolling update of 7 replicas leaves 3 nodes at most one pod apart, every time",
	Cluster: ThreeNodes,
	Backend: workloads.Backend{
		Replicas: 7, Spread: eachNode,
		PreStop:   workloads.NoPreStop,   // there is no load to protect
		Readiness: workloads.NoReadiness, // probes of a hundred pods would keep the processors from starting them
	},
	Trials:   12,
	Faults:   []fault.Fault{fault.Rollout{}},
	Hold:     3 * time.Second, // what the rollout left has to be seen settled before it is rolled back
	Promises: []invariant.Invariant{invariant.SpreadTrials{TopologyKey: workloads.Host, Max: 1}},
	About:    2 * time.Minute,
	Full:     true,
})
