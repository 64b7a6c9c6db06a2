package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ABudgetOfAllBlocksADrain is a budget that can never be met while a pod goes: whoever upgrades nodes waits for ever.
var ABudgetOfAllBlocksADrain = scenario.Describe(scenario.Spec{
	Name:    "chaos/a-budget-of-all-blocks-a-drain",
	Claim:   "a budget of all replicas blocks a drain for as long as it is tried, no pod ends, no request fails, and the node is open again afterwards",
	Backend: workloads.Backend{Budget: workloads.Budget{MinAvailable: "6"}},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.TryDrain{For: 15 * time.Second}},
	Promises: []invariant.Invariant{
		invariant.DrainBlocked{Budget: "backend", For: 10 * time.Second}, // of 15 s: a busy machine answers late
		invariant.BudgetHonoured{MustRefuse: true},
		invariant.NoFailedRequests{Refused: true},
	},
	About: 50 * time.Second,
	Full:  true,
})
