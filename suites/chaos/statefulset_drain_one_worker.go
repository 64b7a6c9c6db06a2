package chaos

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// StatefulSetDrainOneWorker evicts pods that come back on other nodes with the same names.
var StatefulSetDrainOneWorker = scenario.Describe(scenario.Spec{
	Name:    "chaos/statefulset-drain-one-worker",
	Claim:   "draining one worker under a StatefulSet is invisible to clients, and honours the budget",
	Backend: workloads.Backend{StatefulSet: true},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.Drain{}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.BudgetHonoured{},
	},
	Full: true,
})
