package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
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
