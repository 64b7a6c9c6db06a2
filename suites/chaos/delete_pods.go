package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// DeletePods is what no budget stops: someone deletes pods by hand.
var DeletePods = scenario.Describe(scenario.Spec{
	Name:  "chaos/delete-pods",
	Claim: "deleting two of six pods at once is invisible to clients, and the workload is whole again within 15 s of their deletion",
	Backend: workloads.Backend{
		ServiceTime: 300 * time.Millisecond, // so that about five requests are in flight on each pod whenever it is told to end
		GracePeriod: 12 * time.Second,       // 7 s of it to end in order, which takes two: mutants that do not end take it all
	},
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.PodDelete{Count: 2}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		// A pod starts in 2 s, and one that was deleted ends in 5 s, or is killed after 12.
		invariant.RecoversWithin{Workload: "backend", Limit: 15 * time.Second, FromFault: true},
	},
})
