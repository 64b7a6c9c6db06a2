package chaos

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

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
