package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// ControllerManagerAway leaves a scaled Deployment as it was: nothing creates the pod.
var ControllerManagerAway = scenario.Describe(scenario.Spec{
	Name: "chaos/kube-controller-manager-away",
	Claim: "without a controller manager a scaled Deployment stays as it is, clients notice nothing, and it is scaled once the " +
		"controller manager is back",
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.ComponentAway{Component: fault.ControllerManager, For: 20 * time.Second}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.Resumes{Limit: time.Minute},
	},
	About: 90 * time.Second,
	Full:  true,
})
