package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

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
