package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// NodePressureWithoutAGateway shows what clients see that do not retry. An evicted pod stays a ready endpoint until it has
// ended, and a moment longer.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#hard-eviction-thresholds
var NodePressureWithoutAGateway = scenario.Describe(scenario.Spec{
	Name: "chaos/node-pressure-without-a-gateway",
	Claim: "when a kubelet short of memory evicts a node's pods, only their share of the requests fails, and none later than 5 s after " +
		"the last eviction",
	Cluster:  threeNodes,
	Backend:  workloads.Backend{Budget: noneAllowed},
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.NodePressure{}},
	Hold:     8 * time.Second, // the failures have to end while the pressure lasts
	Promises: []invariant.Invariant{invariant.FailuresEndWithin{Limit: 5 * time.Second}},
	About:    65 * time.Second,
	Full:     true,
})
