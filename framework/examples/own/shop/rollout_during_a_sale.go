package shop

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// RolloutDuringASale replaces every pod while the workload has more replicas than usual.
var RolloutDuringASale = scenario.Describe(scenario.Spec{
	Name:    "shop/rollout-during-a-sale",
	Claim:   "a rollout during a sale is invisible to clients, and restarts no container",
	Backend: workloads.Backend{Replicas: 4},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{SaleOf(8), fault.Rollout{}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		NoRestarts{},
	},
})
