package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

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
