package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// DeletePods deletes pods by hand, which no budget prevents.
var DeletePods = scenario.Describe(scenario.Spec{
	Name:  "chaos/delete-pods",
	Claim: "deleting two of six pods at once is invisible to clients, and the workload has fully recovered within 15 s of their deletion",
	Backend: workloads.Backend{
		ServiceTime: 300 * time.Millisecond, // so that about five requests are in flight on each pod when it gets SIGTERM
		GracePeriod: 12 * time.Second,       // leaves 7 s for a graceful shutdown, which takes two; mutants that do not exit use all of it
	},
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.PodDelete{Count: 2}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		// A pod starts in 2 s. A deleted pod terminates in 5 s, or is killed after 12.
		invariant.RecoversWithin{Workload: "backend", Limit: 15 * time.Second, FromFault: true},
	},
})
