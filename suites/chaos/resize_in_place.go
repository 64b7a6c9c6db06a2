package chaos

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// ResizeInPlace changes what pods ask for without making others, which is stable from Kubernetes 1.35 on.
//
// Source: https://www.kubernetes.dev/resources/keps/1287/
var ResizeInPlace = scenario.Describe(scenario.Spec{
	Name:     "chaos/resize-in-place",
	Claim:    "all pods can be given four times the processor time at once, and the old amount again, while they run and invisibly to clients",
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.Resize{CPU: "20m"}},
	Promises: []invariant.Invariant{invariant.ResizedInPlace{}, invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	Full:     true,
})
