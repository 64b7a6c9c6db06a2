package conformance

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// BudgetMaxUnavailable asks for more evictions than maxUnavailable, here a percentage, allows.
var BudgetMaxUnavailable = scenario.Describe(scenario.Spec{
	Name:  "conformance/budget-max-unavailable",
	Claim: "with maxUnavailable 34% of 6, evictions that would leave more than three pods out are refused",
	Backend: workloads.Backend{
		Replicas:   6,
		Budget:     workloads.Budget{MaxUnavailable: "34%"}, // of 6: 2.04, which rounds up to 3
		StartDelay: slowStart,
	},
	Steady: before, Recovered: after,
	Faults:   []fault.Fault{fault.Evict{}},
	Promises: []invariant.Invariant{invariant.BudgetHonoured{MustRefuse: true}},
})
