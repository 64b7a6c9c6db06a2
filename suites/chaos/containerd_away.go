package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// ContainerdAway stops containerd on one worker: its containers keep running, but none can be started or stopped.
var ContainerdAway = scenario.Describe(scenario.Spec{
	Name:    "chaos/containerd-away",
	Claim:   "half a minute without a worker's containerd is invisible to clients",
	Cluster: smallCluster,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.ComponentAway{Component: fault.Containerd, For: 30 * time.Second}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Limit: 2 * time.Minute},
	},
	About: 2 * time.Minute,
	Full:  true,
})
