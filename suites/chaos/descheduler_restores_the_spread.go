package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// DeschedulerRestoresTheSpread covers the time after a zone's maintenance: the scheduler placed its pods in the other zones and
// leaves them there, so the next zone that fails takes half of them.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#known-limitations
var DeschedulerRestoresTheSpread = scenario.Describe(scenario.Spec{
	Name:    "chaos/descheduler-restores-the-spread",
	Claim:   "a Descheduler brings pods back into a zone that was drained, within the budget and invisibly to clients",
	Backend: workloads.Backend{Replicas: 9},
	Addons:  []workloads.Addon{workloads.Descheduler{Every: 5 * time.Second}},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.Unbalance{}},
	Hold:    65 * time.Second, // longer than the limit below, so that a limit that was missed can be observed
	Promises: []invariant.Invariant{
		// Three pods have to move, and the budget allows one per round of 5 s. A busy machine takes longer.
		invariant.SpreadWithin{Workload: "backend", TopologyKey: workloads.Zone, Max: 1, Limit: time.Minute},
		invariant.BudgetHonoured{},
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
	},
	About: 2 * time.Minute,
	Full:  true,
})
