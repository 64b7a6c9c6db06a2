package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
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

// StatefulSetDrainOneWorker evicts pods that come back on other nodes with the same names.
var StatefulSetDrainOneWorker = scenario.Describe(scenario.Spec{
	Name:    "chaos/statefulset-drain-one-worker",
	Claim:   "draining one worker under a StatefulSet is invisible to clients, and honours the budget",
	Backend: workloads.Backend{StatefulSet: true},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.Drain{}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.BudgetHonoured{},
	},
	Full: true,
})

// StatefulSetRollingUpdate replaces pods that keep their names: a new pod cannot be created before the old one is gone.
var StatefulSetRollingUpdate = scenario.Describe(scenario.Spec{
	Name:  "chaos/statefulset-rolling-update",
	Claim: "a rolling update of a StatefulSet and its rollback, one pod at a time, are invisible to clients",
	Backend: workloads.Backend{
		StatefulSet: true,
		Replicas:    3,               // each takes 10 s, in the update and again in the rollback
		StartDelay:  2 * time.Second, // a server that starts slowly needs its readiness probe; see mutants/statefulset-no-readiness-probe
	},
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.Rollout{}},
	Promises: []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	About:    100 * time.Second,
	Full:     true,
})

// StatefulSetNoReadinessProbe goes on to the next pod before the last one listens.
var StatefulSetNoReadinessProbe = scenario.Mutate(StatefulSetRollingUpdate, scenario.Mutation{
	Name:     "mutants/statefulset-no-readiness-probe",
	Removed:  "a readiness probe for a StatefulSet that starts slowly",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneFresh}, // a pod that does not listen yet has no kept connections
	Cause:    attribution.CauseReadyTooEarly,
	Break:    func(s *scenario.Spec) { s.Backend.Readiness = workloads.NoReadiness },
})

// StatefulSetScaleUpAndDown removes the pods with the highest ordinals, wherever they run.
var StatefulSetScaleUpAndDown = scenario.Describe(scenario.Spec{
	Name:     "chaos/statefulset-scale-up-and-down",
	Claim:    "scaling a StatefulSet from 6 to 9 to 3 replicas and back is invisible to clients",
	Backend:  workloads.Backend{StatefulSet: true},
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.Scale{Through: []int{9, 3}}},
	Promises: []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	Full:     true,
})
