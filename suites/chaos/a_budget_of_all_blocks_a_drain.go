package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ABudgetOfAllBlocksADrain has a budget that can never be met while a pod is evicted: a node upgrade that drains first waits
// for ever.
var ABudgetOfAllBlocksADrain = scenario.Describe(scenario.Spec{
	Name: "chaos/a-budget-of-all-blocks-a-drain",
	Claim: "a budget that requires every replica blocks a drain for as long as it is tried: no pod terminates, no request fails, and " +
		"the node is schedulable again afterwards",
	Backend: workloads.Backend{Budget: workloads.Budget{MinAvailable: "6"}},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.TryDrain{For: 15 * time.Second}},
	Promises: []invariant.Invariant{
		invariant.DrainBlocked{Budget: "backend", For: 10 * time.Second}, // of the 15 s tried: the API server of a busy machine answers late
		invariant.BudgetHonoured{MustRefuse: true},
		invariant.NoFailedRequests{Refused: true},
	},
	About: 50 * time.Second,
	Full:  true,
})
