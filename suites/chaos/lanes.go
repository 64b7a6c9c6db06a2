package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
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

// lasting are the lanes of clients that multiplex their connections or hold one permanently.
var lasting = load.LaneNames(load.Multiplexed, load.Held)

// EveryLaneDropsAtSIGTERM exits at once. Clients that multiplex their connections or hold one permanently must catch it. Its
// server sets a trap: before it exits it waits up to a second for a request that it can cut. See
// mutants/every-lane-drops-at-sigterm-untrapped.
var EveryLaneDropsAtSIGTERM = scenario.Mutate(EveryLaneRollingUpdate, scenario.Mutation{
	Name:     "mutants/every-lane-drops-at-sigterm",
	Removed:  "three practices at SIGTERM: GOAWAY, close messages, and finishing requests in flight",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    lasting, // new connections no longer reach the pod, and mutants/drops-at-sigterm covers the reused ones
	Cause:    attribution.CauseCutAtSIGTERM,
	Break:    func(s *scenario.Spec) { s.Backend.AtTerm = workloads.Drop },
})

// EveryLaneDropsAtSIGTERMUntrapped is mutants/every-lane-drops-at-sigterm without its trap. Its answers take no time, so a lane
// is only hurt if a request arrives just when a pod exits, or if its connection was meant to last.
var EveryLaneDropsAtSIGTERMUntrapped = scenario.Mutate(EveryLaneRollingUpdate, scenario.Mutation{
	Name:     "mutants/every-lane-drops-at-sigterm-untrapped",
	Removed:  "three practices at SIGTERM: GOAWAY, close messages, and finishing requests in flight (by a server that sets no trap)",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    lasting, // as in mutants/every-lane-drops-at-sigterm
	Cause:    attribution.CauseCutAtSIGTERM,
	ByChance: true, // on each lane a request must be in flight when a pod exits
	Break:    func(s *scenario.Spec) { s.Backend.AtTerm = workloads.DropUntrapped },
})

// EveryLaneShutdownAlone ends with net/http's Shutdown, as many servers do. Shutdown finishes requests in flight, but neither
// closes nor waits for connections that no longer carry requests, such as WebSockets.
//
// Source: https://pkg.go.dev/net/http#Server.Shutdown
var EveryLaneShutdownAlone = scenario.Mutate(EveryLaneRollingUpdate, scenario.Mutation{
	Name:     "mutants/every-lane-shutdown-alone",
	Removed:  "a close message on long-lived connections",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    load.LaneNames(load.Held), // the other lanes carry requests, which Shutdown finishes
	Cause:    attribution.CauseCutAtSIGTERM,
	Break:    func(s *scenario.Spec) { s.Backend.AtTerm = workloads.Shutdown },
})
