package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// DrainWithoutABudget shows what spreading achieves alone: draining a node ends one pod of six.
var DrainWithoutABudget = scenario.Describe(scenario.Spec{
	Name:  "chaos/drain-without-a-budget",
	Claim: "draining one node of a workload that is spread over all of them is invisible to clients, even without a budget",
	Backend: workloads.Backend{
		Budget:     workloads.NoBudget,
		StartDelay: 8 * time.Second, // longer than the preStop sleep: if pods ended together, their replacements would be ready too late
	},
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.Drain{}},
	Promises: []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	Full:     true,
})
