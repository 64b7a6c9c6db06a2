package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// DrainTwoWorkers drains the two nodes that run the only two pods, at the same time. A budget exists for this case.
var DrainTwoWorkers = scenario.Describe(scenario.Spec{
	Name:  "chaos/drain-two-workers",
	Claim: "draining both nodes of a workload at once is invisible to clients, because a budget makes one wait for the other",
	Backend: workloads.Backend{
		Replicas:   2,
		StartDelay: 6 * time.Second, // twice the preStop sleep: if both pods ended together, their replacements would be ready too late
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
