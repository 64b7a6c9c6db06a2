package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

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
