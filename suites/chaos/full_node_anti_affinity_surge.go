package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

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
