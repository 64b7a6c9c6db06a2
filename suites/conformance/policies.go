package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// AffinityPolicyHonor restricts its pods to the two nodes of one zone with a node selector.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#topologyspreadconstraints-field
var AffinityPolicyHonor = scenario.Describe(scenario.Spec{
	Name: "conformance/affinity-policy-honor",
	Claim: "with nodeAffinityPolicy: Honor, 3 replicas bound to the 2 nodes of a zone are spread 2-1: nodes that the selector " +
		"excludes do not count as domains",
	Backend: workloads.Backend{
		Replicas: 2, NodeSelector: map[string]string{workloads.Zone: "a"}, Spread: eachNode,
	},
	Faults: []fault.Fault{fault.Scale{Through: []int{3}}},
	Hold:   3 * time.Second, // so that the last step is seen settled, too
	Promises: []invariant.Invariant{
		invariant.Placed{Workload: "backend"},
		invariant.Spread{Workload: "backend", TopologyKey: workloads.Host, Max: 1},
	},
	Full: true,
})

// AffinityPolicyIgnore counts nodes that the node selector excludes as domains.
var AffinityPolicyIgnore = scenario.Mutate(AffinityPolicyHonor, scenario.Mutation{
	Name:     "mutants/affinity-policy-ignore",
	Removed:  "nodeAffinityPolicy: Honor",
	CaughtBy: invariant.Placed{},
	Reason:   judge.NoNode,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Host, NodeAffinityPolicy: workloads.Ignore}}
		s.SchedulableReplicas = 2 // one per node: the nodes of other zones count as empty domains for ever
	},
})

// AntiAffinityRequired has more replicas than zones: a rule that allows one pod per zone leaves the rest pending.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
var AntiAffinityRequired = scenario.Describe(scenario.Spec{
	Name:  "conformance/anti-affinity-required",
	Claim: "required anti-affinity over 3 zones leaves 2 of 5 replicas pending, although every zone has room",
	Backend: workloads.Backend{
		Replicas: 3, Spread: workloads.NoSpread, Affinity: []workloads.Affinity{{Key: workloads.Zone, Away: true}},
	},
	SchedulableReplicas: 3,
	Faults:              []fault.Fault{fault.Scale{Through: []int{5}}},
	Hold:                3 * time.Second, // to see that pending pods stay pending
	Promises:            []invariant.Invariant{invariant.Placed{Workload: "backend", Pending: 2}},
	Full:                true,
})

// AntiAffinityPreferred places all replicas: a preference yields when there is no other place.
var AntiAffinityPreferred = scenario.Mutate(AntiAffinityRequired, scenario.Mutation{
	Name:     "mutants/anti-affinity-preferred",
	Removed:  "required anti-affinity (preferred instead)",
	CaughtBy: invariant.Placed{},
	Reason:   judge.HasNodes,
	Break: func(s *scenario.Spec) {
		s.Backend.Affinity = []workloads.Affinity{{Key: workloads.Zone, Away: true, Weight: 100}}
		s.SchedulableReplicas = 0
	},
})

// MinDomains counts zones that do not exist (yet) as empty domains. It is for workloads that should rather wait for a fourth
// zone than crowd three.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#topologyspreadconstraints-field
var MinDomains = scenario.Describe(scenario.Spec{
	Name:                "conformance/min-domains",
	Claim:               "with minDomains 4 and maxSkew 1, 3 zones take one replica each, and the fourth stays pending",
	Backend:             workloads.Backend{Replicas: 3, Spread: []workloads.Spread{{Key: workloads.Zone, MinDomains: 4}}},
	SchedulableReplicas: 3,
	Faults:              []fault.Fault{fault.Scale{Through: []int{4}}},
	Hold:                3 * time.Second, // to see that pending pods stay pending
	Promises:            []invariant.Invariant{invariant.Placed{Workload: "backend", Pending: 1}},
	Full:                true,
})

// MinDomainsUnset crowds the existing zones.
var MinDomainsUnset = scenario.Mutate(MinDomains, scenario.Mutation{
	Name:     "mutants/min-domains-unset",
	Removed:  "minDomains",
	CaughtBy: invariant.Placed{},
	Reason:   judge.HasNodes,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Zone}}
		s.SchedulableReplicas = 0
	},
})

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

// MinimumPerNodeOf10 has one replica fewer than the rule asks for.
var MinimumPerNodeOf10 = scenario.Mutate(MinimumPerNode, scenario.Mutation{
	Name:     "mutants/minimum-per-node-of-10",
	Removed:  "the eleventh replica that the rule asks for",
	CaughtBy: invariant.PerDomain{},
	Reason:   judge.HasNodes,
	Break:    func(s *scenario.Spec) { s.Backend.Replicas = 10 },
})

// TaintsPolicyHonor lets its pods go to any node whose taints allow it, as workloads do that know no label for workers. The
// control plane and the load node are tainted, so they take no pod.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#topologyspreadconstraints-field
var TaintsPolicyHonor = scenario.Describe(scenario.Spec{
	Name: "conformance/taints-policy-honor",
	Claim: "with nodeTaintsPolicy: Honor, 4 replicas over 3 workers and 2 tainted nodes are spread 2-1-1: tainted nodes do not count " +
		"as domains",
	Cluster: ThreeNodes,
	Backend: workloads.Backend{Replicas: 3, AnyNode: true, Spread: eachNode},
	Faults:  []fault.Fault{fault.Scale{Through: []int{4}}},
	Hold:    3 * time.Second, // so that the last step is seen settled, too
	Promises: []invariant.Invariant{
		invariant.Placed{Workload: "backend"},
		invariant.Spread{Workload: "backend", TopologyKey: workloads.Host, Max: 1},
	},
	Full: true,
})

// TaintsPolicyIgnore uses Kubernetes' default.
var TaintsPolicyIgnore = scenario.Mutate(TaintsPolicyHonor, scenario.Mutation{
	Name:     "mutants/taints-policy-ignore",
	Removed:  "nodeTaintsPolicy: Honor (the default is Ignore)",
	CaughtBy: invariant.Placed{},
	Reason:   judge.NoNode,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Host, NodeTaintsPolicy: workloads.Ignore}}
		s.SchedulableReplicas = 3 // one per worker: the tainted nodes count as empty domains for ever
	},
})
