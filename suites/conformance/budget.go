package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge"
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

// slowStart delays the replacements' readiness by more than the second by which two watches may differ. Otherwise the record
// would not show how many healthy pods an eviction left.
const slowStart = 5 * time.Second

// Without load, the phases before and after a fault only have to cover late watch events, and watches differ by up to a second.
const (
	before = time.Second
	after  = 2 * time.Second
)

// BudgetMinAvailable asks for more evictions than minAvailable allows.
var BudgetMinAvailable = scenario.Describe(scenario.Spec{
	Name:  "conformance/budget-min-available",
	Claim: "with minAvailable 2 of 3, evictions that would leave fewer than two healthy pods are refused",
	Backend: workloads.Backend{
		Replicas:   3,
		Budget:     workloads.Budget{MinAvailable: "2"},
		StartDelay: slowStart,
	},
	Steady: before, Recovered: after,
	Faults:   []fault.Fault{fault.Evict{}},
	Promises: []invariant.Invariant{invariant.BudgetHonoured{MustRefuse: true, AtLeast: 2}},
})

// EvictionsWithoutABudget lets evictions take every pod.
var EvictionsWithoutABudget = scenario.Mutate(BudgetMinAvailable, scenario.Mutation{
	Name:     "mutants/evictions-without-a-budget",
	Removed:  "a disruption budget",
	CaughtBy: invariant.BudgetHonoured{},
	Reason:   judge.Evicted,
	Break:    func(s *scenario.Spec) { s.Backend.Budget = workloads.NoBudget },
})
