package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// twoNodes is the smallest cluster with several nodes to balance load over.
var twoNodes = clusters.Spec{Zones: []string{"a", "b"}, WorkersPerZone: 1}

// evenRevision requires an even spread of each revision's pods over the nodes; evenNodes only prefers it.
var (
	evenRevision = []workloads.Spread{{Key: workloads.Host}}
	evenNodes    = []workloads.Spread{{Key: workloads.Host, Unsatisfiable: workloads.ScheduleAnyway}}
)

// FullNode is a rolling update while one of two entry nodes has no room for a new pod.
var FullNode = scenario.Describe(scenario.Spec{
	Name: "chaos/full-node",
	Claim: "an update while a node is full is invisible behind node ports, with pods spread by revision and a gateway that checks " +
		"nodes",
	Cluster:   twoNodes,
	Backend:   workloads.Backend{Replicas: 2, Spread: evenRevision, NodePort: 30080, NodePortLocal: true},
	Gateway:   &workloads.Gateway{},
	NodePorts: 2,
	Load:      scenario.DefaultLoad,
	Faults:    []fault.Fault{fault.FillNode{Worker: 2}, fault.TryRollout{For: 15 * time.Second}},
	Promises:  []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	About:     time.Minute,
	Full:      true,
})

// FullNodeByAllRevisions also counts the old pods, which are about to end: a spread that is even during the update is uneven
// afterwards.
var FullNodeByAllRevisions = scenario.Mutate(FullNode, scenario.Mutation{
	Name:     "mutants/full-node-by-all-revisions",
	Removed:  "two practices: matchLabelKeys, and a gateway that checks its entry nodes",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseEmptyUpstream,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Host, MatchLabelKeys: []string{}}}
		s.Gateway.Health, s.Gateway.Ejection, s.Gateway.MaxTries = workloads.NoHealth, workloads.NoEjection, 1
	},
})

// FullNodeNoRemedy ends with both pods on one node, and every second request goes to the other.
var FullNodeNoRemedy = scenario.Mutate(FullNode, scenario.Mutation{
	Name:     "mutants/full-node-no-remedy",
	Removed:  "two practices: a hard spread constraint, and a gateway that checks its entry nodes",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseEmptyUpstream,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Host, Unsatisfiable: workloads.ScheduleAnyway}}
		s.Gateway.Health, s.Gateway.Ejection, s.Gateway.MaxTries = workloads.NoHealth, workloads.NoEjection, 1
	},
})

// FullNodeAntiAffinitySurge relies on required anti-affinity alone, with one surge pod allowed and none unavailable. The new
// pod fits neither on the full node nor beside an old pod, so the update gets stuck and no old pod is removed. It would get
// stuck without a full node, too: the rule also counts the pods of the old revision, and each node has one.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
var FullNodeAntiAffinitySurge = scenario.Describe(scenario.Spec{
	Name: "chaos/full-node-anti-affinity-surge",
	Claim: "required anti-affinity with maxSurge 1 and maxUnavailable 0 is enough for an update while a node is full: its first new pod " +
		"stays pending, the old pods stay, and no request fails",
	Cluster: twoNodes,
	Backend: workloads.Backend{
		Replicas: 2, Spread: workloads.NoSpread, Affinity: []workloads.Affinity{{Key: workloads.Host, Away: true}},
		Strategy: workloads.Strategy{MaxSurge: "1", MaxUnavailable: "0"}, NodePort: 30080, NodePortLocal: true,
	},
	Gateway:   &workloads.Gateway{Health: workloads.NoHealth, Ejection: workloads.NoEjection, MaxTries: 1},
	NodePorts: 2,
	Load:      scenario.DefaultLoad,
	Faults:    []fault.Fault{fault.FillNode{Worker: 2}, fault.TryRollout{For: 15 * time.Second}},
	Promises: []invariant.Invariant{
		invariant.Placed{Workload: "backend", Pending: 1, Surge: 1},
		invariant.NoFailedRequests{},
	},
	About: time.Minute,
	Full:  true,
})

// FullNodeAntiAffinity deletes an old pod before the new one is scheduled. Under required anti-affinity with a pod on every
// node, an update without surge has no other way. The full node has no room for the new pod.
var FullNodeAntiAffinity = scenario.Mutate(FullNodeAntiAffinitySurge, scenario.Mutation{
	Name:     "mutants/full-node-anti-affinity",
	Removed:  "an update that adds a pod before it removes one (maxUnavailable 1 instead of maxSurge 1)",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseEmptyUpstream,
	Break: func(s *scenario.Spec) {
		s.Backend.Strategy = workloads.Strategy{MaxSurge: "0", MaxUnavailable: "1"}
	},
})

// FullNodeAntiAffinityPreferred places both new pods on the same node. The update completes, and every second request goes to a
// node without a pod.
var FullNodeAntiAffinityPreferred = scenario.Mutate(FullNodeAntiAffinitySurge, scenario.Mutation{
	Name:     "mutants/full-node-anti-affinity-preferred",
	Removed:  "required anti-affinity (preferred instead)",
	CaughtBy: invariant.Placed{},
	Reason:   judge.HasNodes,
	Break:    func(s *scenario.Spec) { s.Backend.Affinity[0].Weight = 100 },
})

// FullNodeHealthChecksAlone relies on the gateway's health checks alone: both pods land on one node, and the gateway stops
// using the other.
var FullNodeHealthChecksAlone = scenario.Describe(scenario.Spec{
	Name:      "chaos/full-node-health-checks-alone",
	Claim:     "a gateway that checks its entry nodes is enough for an update while a node is full, although both pods land on the other",
	Cluster:   twoNodes,
	Backend:   workloads.Backend{Replicas: 2, Spread: evenNodes, NodePort: 30080, NodePortLocal: true},
	Gateway:   &workloads.Gateway{},
	NodePorts: 2,
	Load:      scenario.DefaultLoad,
	Faults:    []fault.Fault{fault.FillNode{Worker: 2}, fault.TryRollout{For: 15 * time.Second}},
	Promises:  []invariant.Invariant{invariant.NoFailedRequests{}},
	About:     time.Minute,
	Full:      true,
})

// FullNodeSpreadAlone relies on the spread constraint alone: the update gets stuck, and the old pod stays.
var FullNodeSpreadAlone = scenario.Describe(scenario.Spec{
	Name:      "chaos/full-node-spread-alone",
	Claim:     "pods spread by revision are enough for an update while a node is full: it gets stuck, and no request fails",
	Cluster:   twoNodes,
	Backend:   workloads.Backend{Replicas: 2, Spread: evenRevision, NodePort: 30080, NodePortLocal: true},
	Gateway:   &workloads.Gateway{Health: workloads.NoHealth, Ejection: workloads.NoEjection, MaxTries: 1},
	NodePorts: 2,
	Load:      scenario.DefaultLoad,
	Faults:    []fault.Fault{fault.FillNode{Worker: 2}, fault.TryRollout{For: 15 * time.Second}},
	Promises:  []invariant.Invariant{invariant.NoFailedRequests{}},
	About:     time.Minute,
	Full:      true,
})

// FullNodeThenALostOne shows what neither remedy survives alone: the death of the node that is not full.
var FullNodeThenALostOne = scenario.Describe(scenario.Spec{
	Name: "chaos/full-node-then-a-lost-one",
	Claim: "with pods spread by revision and a gateway that checks nodes, clients notice nothing even when one node dies after the " +
		"other filled up",
	Cluster:   twoNodes,
	Backend:   workloads.Backend{Replicas: 2, Spread: evenRevision, NodePort: 30080, NodePortLocal: true},
	Gateway:   &workloads.Gateway{},
	NodePorts: 2,
	Load:      scenario.DefaultLoad,
	Faults: []fault.Fault{
		fault.FillNode{Worker: 2}, fault.TryRollout{For: 15 * time.Second}, fault.NodeKill{Worker: 1},
	},
	Hold:     15 * time.Second, // longer than the lab profile needs to notice the loss
	Promises: []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	About:    90 * time.Second,
	Full:     true,
})

// FullNodeThenALostOneSoft loses both pods with the node that they share.
var FullNodeThenALostOneSoft = scenario.Mutate(FullNodeThenALostOne, scenario.Mutation{
	Name:     "mutants/full-node-then-a-lost-one-soft",
	Removed:  "a hard spread constraint",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseOutageNodeLost,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Host, Unsatisfiable: workloads.ScheduleAnyway}}
	},
})

// FullNodeThenALostOneUnchecked keeps sending every second request to the dead node.
var FullNodeThenALostOneUnchecked = scenario.Mutate(FullNodeThenALostOne, scenario.Mutation{
	Name:     "mutants/full-node-then-a-lost-one-unchecked",
	Removed:  "a gateway that checks its entry nodes",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseDeadUpstream,
	Break: func(s *scenario.Spec) {
		s.Gateway.Health, s.Gateway.Ejection, s.Gateway.MaxTries = workloads.NoHealth, workloads.NoEjection, 1
	},
})
