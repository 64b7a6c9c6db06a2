package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// slowStart keeps replacements from being ready within the second by which watches may differ: until then nobody could
// tell from the record what an eviction left.
const slowStart = 5 * time.Second

// Before and after a fault where no requests flow there is nothing to see but what the watches still bring, which may
// differ by a second.
const (
	before = time.Second
	after  = 2 * time.Second
)

// BudgetMinAvailable asks for more evictions than minAvailable can spare.
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
