package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// DrainWithMinAvailable drains two of the three nodes that run a pod. The budget allows one disruption at a time.
var DrainWithMinAvailable = scenario.Describe(scenario.Spec{
	Name: "chaos/drain-with-min-available",
	Claim: "with minAvailable 2 of 3, draining two nodes at once takes the pods one by one, each after the previous pod's replacement " +
		"is ready",
	Backend: workloads.Backend{
		Replicas:   3,
		Budget:     workloads.Budget{MinAvailable: "2"},
		StartDelay: 8 * time.Second, // longer than the preStop sleep: if pods ended together, their replacements would be ready too late
	},
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.Drain{Nodes: 2}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.BudgetHonoured{MustRefuse: true, AtLeast: 2},
	},
	About: time.Minute,
	Full:  true,
})
