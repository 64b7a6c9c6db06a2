package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// KillOneWorkerBehindAGateway is an involuntary disruption that clients do not notice, because a gateway checks the health of
// its upstreams, ejects failing ones, and retries on another.
var KillOneWorkerBehindAGateway = scenario.Describe(scenario.Spec{
	Name:    "chaos/kill-one-worker-behind-a-gateway",
	Claim:   "killing a worker whose kernel closes its connections is invisible to clients behind a gateway with health checks and retries",
	Gateway: &workloads.Gateway{},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.NodeKill{}},
	Hold:    20 * time.Second, // longer than the lab profile needs to notice the loss and to replace the pods
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Workload: "backend", Limit: time.Minute}, // the node was Ready 4 s after its start; a busy machine takes longer
	},
	About: 50 * time.Second,
	Stock: true,
})
