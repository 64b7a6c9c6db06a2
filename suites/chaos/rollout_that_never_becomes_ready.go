package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// RolloutThatNeverBecomesReady releases a version that hangs in its start, looks at it for a while, and takes it back.
var RolloutThatNeverBecomesReady = scenario.Describe(scenario.Spec{
	Name: "chaos/rollout-that-never-becomes-ready",
	Claim: "with maxUnavailable 0, neither the rollout of a version that never becomes ready nor its rollback is noticed by clients, " +
		"and 30 s after it the workload is whole",
	Backend: workloads.Backend{Strategy: workloads.Strategy{MaxUnavailable: "0"}},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.BadRollout{Args: backend.Options{Broken: backend.Hang}.Args()}},
	Hold:    15 * time.Second, // a pod was ready 2 s after its start; a busy machine takes longer
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.RecoversWithin{Workload: "backend", Limit: 30 * time.Second}, // the bad pods' preStop sleep is the most of it
	},
	About: time.Minute,
	Full:  true,
})
