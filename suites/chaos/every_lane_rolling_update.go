package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// EveryLaneRollingUpdate replaces every pod twice, so that every long-lived connection has to be left at least once. A Service
// binds such a connection to its pod until the connection ends, so only the server can ask the client to reconnect elsewhere.
//
// Source: https://kubernetes.io/docs/reference/networking/virtual-ips/
var EveryLaneRollingUpdate = scenario.Describe(scenario.Spec{
	Name: "chaos/every-lane-rolling-update",
	Claim: "a rolling update and its rollback are invisible to clients that open a connection per request, reuse connections, " +
		"multiplex them (HTTP/2, gRPC) or hold one permanently (a WebSocket)",
	Backend: workloads.Backend{
		StartDelay: 2 * time.Second, // as in chaos/rolling-update
	},
	Load:     scenario.EveryLane,
	Steady:   5 * time.Second, // for the hundred answers that a 99th percentile needs: gRPC gets 30 per second
	Faults:   []fault.Fault{fault.Rollout{}},
	Promises: []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	About:    70 * time.Second,
	Full:     true,
})
