package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ShutDownOneWorkerBehindAGateway is the same shutdown behind a gateway that retries on another pod when one does not answer.
var ShutDownOneWorkerBehindAGateway = scenario.Describe(scenario.Spec{
	Name:    "chaos/shut-down-one-worker-behind-a-gateway",
	Claim:   "an orderly shutdown of a worker that was not drained is invisible to clients behind a gateway with health checks and retries",
	Cluster: threeNodes,
	Gateway: &workloads.Gateway{},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.NodeStop{}},
	Hold:    20 * time.Second, // longer than the lab profile needs to notice the loss and to replace the pods
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Workload: "backend", Limit: time.Minute},
	},
	About: 80 * time.Second,
	Full:  true,
})
