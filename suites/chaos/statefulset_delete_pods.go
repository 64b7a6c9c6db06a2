package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// StatefulSetDeletePods loses two pods whose successors, of the same names, come only when they are gone.
var StatefulSetDeletePods = scenario.Describe(scenario.Spec{
	Name: "chaos/statefulset-delete-pods",
	Claim: "deleting two of six pods of a StatefulSet at once is invisible to clients, and the workload is whole again within 20 s of " +
		"their deletion",
	Backend: workloads.Backend{StatefulSet: true},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.PodDelete{Count: 2}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		// A pod ends in 5 s, and only then is its successor made, which starts in 2 s; a busy machine takes longer.
		invariant.RecoversWithin{Workload: "backend", Limit: 20 * time.Second, FromFault: true},
	},
	Full: true,
})
