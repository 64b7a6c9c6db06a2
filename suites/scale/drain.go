package scale

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Drain empties four nodes at once. Their pods must wait for each other: the budget allows one to be away.
var Drain = scenario.Describe(scenario.Spec{
	Name: "scale/drain",
	Claim: "draining four of many simulated nodes at once honours the budget of a workload among many others, and is invisible to the clients of a " +
		"workload beside it",
	Cluster:   Large,
	Simulated: among(),
	Load:      scenario.DefaultLoad,
	Faults:    []fault.Fault{fault.Drain{Nodes: 4}},
	Promises: []invariant.Invariant{
		invariant.BudgetHonoured{AtLeast: replicas - 1, Workload: scenario.SimulatedName},
		invariant.DrainCompletes{Workload: scenario.SimulatedName},
		invariant.Placement{Workload: scenario.SimulatedName},
		invariant.RecoversWithin{Workload: scenario.SimulatedName, Limit: recovery},
		invariant.NoFailedRequests{},
	},
	About: 3 * time.Minute,
	Full:  true,
})

// NoBudgetAtScale evicts the pods of four simulated nodes at once.
var NoBudgetAtScale = scenario.Mutate(Drain, scenario.Mutation{
	Name:     "mutants/no-budget-at-scale",
	Removed:  "a disruption budget",
	CaughtBy: invariant.BudgetHonoured{},
	Reason:   judge.Evicted,
	Break:    func(s *scenario.Spec) { s.Simulated.Backend.Budget = workloads.NoBudget },
})
