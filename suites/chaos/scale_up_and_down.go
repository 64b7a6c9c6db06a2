package chaos

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// ScaleUpAndDown is about new pods that get requests too early and old pods that get them too late.
var ScaleUpAndDown = scenario.Describe(scenario.Spec{
	Name:     "chaos/scale-up-and-down",
	Claim:    "scaling from 6 to 9 to 3 replicas and back is invisible to clients",
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.Scale{Through: []int{9, 3}}},
	Promises: []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
})
