package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// smallCluster has two workers, which is enough where the fault does not concern the placement of pods.
var smallCluster = clusters.Spec{Zones: []string{"a", "b"}, WorkersPerZone: 1}

// SchedulerAway leaves a new pod without a node, and nothing else changes.
var SchedulerAway = scenario.Describe(scenario.Spec{
	Name:   "chaos/kube-scheduler-away",
	Claim:  "without a scheduler a new pod waits, clients notice nothing, and it is placed once the scheduler is back",
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.ComponentAway{Component: fault.Scheduler, For: 20 * time.Second}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.Resumes{Limit: time.Minute},
	},
	About: 90 * time.Second,
	Full:  true,
})
