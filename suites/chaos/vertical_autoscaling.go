package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// VerticalAutoscaling has a VerticalPodAutoscaler set the requests of running pods.
//
// Source: https://github.com/kubernetes/autoscaler/blob/master/vertical-pod-autoscaler/docs/features.md#in-place-updates-inplaceorrecreate
var VerticalAutoscaling = scenario.Describe(scenario.Spec{
	Name:     "chaos/vertical-autoscaling",
	Claim:    "a VerticalPodAutoscaler in mode InPlaceOrRecreate raises requests that are too low while the pods run, invisibly to clients",
	Addons:   []workloads.Addon{workloads.MetricsServer{Every: 10 * time.Second}, workloads.VerticalRecommender{}, workloads.VerticalUpdater{}},
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.AutoscaleVertically{}},
	Promises: []invariant.Invariant{invariant.ResizedInPlace{Workload: "backend"}, invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	About:    3 * time.Minute,
	Full:     true,
})
