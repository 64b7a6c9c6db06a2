package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// ContainerdKilled kills containerd on one worker; the containers keep running under their shims.
var ContainerdKilled = scenario.Describe(scenario.Spec{
	Name:    "chaos/containerd-killed",
	Claim:   "the sudden death of a worker's containerd is invisible to clients",
	Cluster: smallCluster,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.ComponentKill{Component: fault.Containerd}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Limit: time.Minute},
	},
	About: time.Minute,
	Full:  true,
})
