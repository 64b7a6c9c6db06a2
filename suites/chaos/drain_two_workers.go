package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// DrainTwoWorkers drains the two nodes that carry the only two pods, at the same time: what the budget is for.
var DrainTwoWorkers = scenario.Describe(scenario.Spec{
	Name:  "chaos/drain-two-workers",
	Claim: "draining both nodes of a workload at once is invisible to clients, because a budget makes one wait for the other",
	Backend: workloads.Backend{
		Replicas:   2,
		StartDelay: 6 * time.Second, // twice the preStop sleep: replacements come too late for pods that end together
	},
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.Drain{Nodes: 2}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.BudgetHonoured{MustRefuse: true},
	},
	About: 45 * time.Second,
})
