package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// StatefulSetDeletePods deletes two pods whose successors have the same names, and so are created only when the pods are gone.
var StatefulSetDeletePods = scenario.Describe(scenario.Spec{
	Name: "chaos/statefulset-delete-pods",
	Claim: "deleting two of six pods of a StatefulSet at once is invisible to clients, and the workload has fully recovered within " +
		"20 s of their deletion",
	Backend: workloads.Backend{StatefulSet: true},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.PodDelete{Count: 2}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		// A pod terminates in 5 s. Only then is its successor created, which starts in 2 s. A busy machine takes longer.
		invariant.RecoversWithin{Workload: "backend", Limit: 20 * time.Second, FromFault: true},
	},
	Full: true,
})
