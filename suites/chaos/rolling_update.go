package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// RollingUpdate replaces every pod twice: by the update, and by its rollback.
var RollingUpdate = scenario.Describe(scenario.Spec{
	Name:  "chaos/rolling-update",
	Claim: "a rolling update and its rollback are invisible to clients",
	Backend: workloads.Backend{
		StartDelay: 2 * time.Second, // a server that starts slowly needs its readiness probe; see mutants/no-readiness-probe
	},
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.Rollout{}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.Spread{Workload: "backend", TopologyKey: workloads.Zone, Max: 1},
	},
	About: 55 * time.Second,
})
