package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// EveryLaneDrain drains a node while clients of every kind are connected to its pod.
var EveryLaneDrain = scenario.Describe(scenario.Spec{
	Name: "chaos/every-lane-drain",
	Claim: "draining one worker is invisible to clients that open a connection per request, reuse connections, multiplex them " +
		"(HTTP/2, gRPC) or hold one permanently (a WebSocket)",
	Backend: workloads.Backend{
		Replicas: 3, // so that the evicted pod has a third of the connections
	},
	Load:   scenario.EveryLane,
	Steady: 5 * time.Second, // for the hundred answers that a 99th percentile needs: gRPC gets 30 per second
	Faults: []fault.Fault{fault.Drain{}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.BudgetHonoured{},
	},
	About: time.Minute,
	Full:  true,
})
