package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

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
