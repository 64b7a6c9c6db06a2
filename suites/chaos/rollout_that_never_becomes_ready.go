package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// RolloutThatNeverBecomesReady releases a version that hangs during its start, waits for a while, and rolls it back.
var RolloutThatNeverBecomesReady = scenario.Describe(scenario.Spec{
	Name: "chaos/rollout-that-never-becomes-ready",
	Claim: "with maxUnavailable 0, neither the rollout of a version that never becomes ready nor its rollback is noticed by clients, " +
		"and the workload has fully recovered within 30 s of the rollback",
	Backend: workloads.Backend{Strategy: workloads.Strategy{MaxUnavailable: "0"}},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.BadRollout{Args: backend.Options{Broken: backend.Hang}.Args()}},
	Hold:    15 * time.Second, // a good pod is ready 2 s after its start; a busy machine takes longer
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.RecoversWithin{Workload: "backend", Limit: 30 * time.Second}, // most of it is the bad pods' preStop sleep
	},
	About: time.Minute,
	Full:  true,
})
