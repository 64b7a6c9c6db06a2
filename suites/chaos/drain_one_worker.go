package chaos

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// DrainOneWorker drains one worker, as a node upgrade does for one node after the other.
var DrainOneWorker = scenario.Describe(scenario.Spec{
	Name:   "chaos/drain-one-worker",
	Claim:  "draining one worker is invisible to clients, and honours the budget",
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.Drain{}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.BudgetHonoured{},
	},
})
