package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

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
