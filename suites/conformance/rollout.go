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

// RolloutSpreadByAllRevisions counts old and new pods together: when the old ones are gone, the rest is even only by luck.
var RolloutSpreadByAllRevisions = scenario.Mutate(RolloutSpreadMatchLabelKeys, scenario.Mutation{
	Name:     "mutants/rollout-spread-by-all-revisions",
	Removed:  "matchLabelKeys",
	CaughtBy: invariant.SpreadTrials{},
	Reason:   judge.HasNodes,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Host, MatchLabelKeys: []string{}}}
	},
})

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

// RolloutSpreadOf20ByAllRevisions is RolloutSpreadByAllRevisions with 20 replicas and a maxSurge of five.
var RolloutSpreadOf20ByAllRevisions = scenario.Mutate(RolloutSpreadOf20, scenario.Mutation{
	Name:     "mutants/rollout-spread-of-20-by-all-revisions",
	Removed:  "matchLabelKeys",
	CaughtBy: invariant.SpreadTrials{},
	Reason:   judge.HasNodes,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Host, MatchLabelKeys: []string{}}}
	},
})

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

// RolloutSpreadSurgeOf21 leaves the scheduler two nodes to choose from at each step: 21 pods and one surge pod are 8, 7 and 7.
var RolloutSpreadSurgeOf21 = scenario.Mutate(RolloutSpreadSurgeDivides, scenario.Mutation{
	Name:     "mutants/rollout-spread-surge-of-21",
	Removed:  "a number of replicas that, plus maxSurge, is divisible by the number of nodes (21 instead of 20)",
	CaughtBy: invariant.SpreadTrials{},
	Reason:   judge.HasNodes,
	Break:    func(s *scenario.Spec) { s.Backend.Replicas = 21 },
})

// RolloutSpreadSurgeOfAQuarter places the new pods where the old ones leave room, and then the old ones end.
var RolloutSpreadSurgeOfAQuarter = scenario.Mutate(RolloutSpreadSurgeDivides, scenario.Mutation{
	Name:     "mutants/rollout-spread-surge-of-a-quarter",
	Removed:  "replacing one pod at a time (maxSurge 25 % instead of 1)",
	CaughtBy: invariant.SpreadTrials{},
	Reason:   judge.HasNodes,
	Break:    func(s *scenario.Spec) { s.Backend.Strategy = workloads.Strategy{MaxSurge: "25%", MaxUnavailable: "0"} },
})

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
