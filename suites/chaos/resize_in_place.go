package chaos

import (
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// ResizeInPlace changes the CPU requests of running pods instead of replacing the pods, which is stable since Kubernetes 1.35.
//
// Source: https://www.kubernetes.dev/resources/keps/1287/
var ResizeInPlace = scenario.Describe(scenario.Spec{
	Name:     "chaos/resize-in-place",
	Claim:    "all pods can be given four times the CPU time at once, and the old amount again, without a restart and invisibly to clients",
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.Resize{CPU: "20m"}},
	Promises: []invariant.Invariant{invariant.ResizedInPlace{}, invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	Full:     true,
})
