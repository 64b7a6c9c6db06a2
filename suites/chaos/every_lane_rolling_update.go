package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// EveryLaneRollingUpdate replaces every pod twice, so that each connection that lasts has to be left, and at least once. To a
// Service, such a connection belongs to its pod until that ends: nobody but the server can ask its client to go elsewhere.
//
// Source: https://kubernetes.io/docs/reference/networking/virtual-ips/
var EveryLaneRollingUpdate = scenario.Describe(scenario.Spec{
	Name: "chaos/every-lane-rolling-update",
	Claim: "a rolling update and its rollback are invisible to clients that connect anew, reuse connections, multiplex them (HTTP/2, " +
		"gRPC) or hold one for good (a WebSocket, a stream)",
	Backend: workloads.Backend{
		StartDelay: 2 * time.Second, // as in chaos/rolling-update
	},
	Load:     scenario.EveryLane,
	Steady:   5 * time.Second, // for the hundred answers that a 99th percentile takes: gRPC has 30 a second
	Faults:   []fault.Fault{fault.Rollout{}},
	Promises: []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	About:    70 * time.Second,
	Full:     true,
})
