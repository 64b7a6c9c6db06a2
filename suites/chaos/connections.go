package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// NewConnectionsEndInTime measures how long a preStop sleep has to be, that is how long after its deletion a pod still gets new
// connections, over 120 deletions. The preStop sleep here is longer than the certified one, so that late connections are
// answered, and so counted.
var NewConnectionsEndInTime = scenario.Describe(scenario.Spec{
	Name:  "chaos/new-connections-end-in-time",
	Claim: "a preStop sleep of 3 s is enough: in more than 100 deletions, no pod gets a new connection later than 3 s after its deletion",
	Backend: workloads.Backend{
		Replicas: 12,                                // two on each worker
		Strategy: workloads.Strategy{MaxSurge: "1"}, // with two at once, two cores let watches come 1.8 s late
		PreStop:  5 * time.Second,                   // two more than the certified 3 s
	},
	Load: []load.Lane{
		{Lane: history.LaneFresh, Rate: 100}, // a connection to each pod every 120 ms
		{Lane: history.LaneControl, Rate: 20},
	},
	// Each rollout replaces 12 pods, and so does its rollback.
	Faults: []fault.Fault{fault.Rollout{}, fault.Rollout{}, fault.Rollout{}, fault.Rollout{}, fault.Rollout{}},
	Promises: []invariant.Invariant{
		invariant.QuietWithin{Limit: 3 * time.Second, Terminations: 100},
		invariant.NoFailedRequests{},
	},
	About: 8 * time.Minute,
	Full:  true,
})

// ConnectionsKeptToTheService goes through a gateway that knows node ports, not pods, and keeps its connections. Each
// connection leads to one pod for as long as it lasts. The gateway does not see that the pod's endpoint is terminating, so
// requests continue until the server itself closes the connection, after its preStop sleep.
var ConnectionsKeptToTheService = scenario.Mutate(NewConnectionsEndInTime, scenario.Mutation{
	Name:     "mutants/connections-kept-to-the-service",
	Removed:  "a new connection for each request",
	CaughtBy: invariant.QuietWithin{},
	Reason:   judge.StillReached,
	Break: func(s *scenario.Spec) {
		s.Backend.NodePort, s.NodePorts = 30080, 6
		s.Gateway = &workloads.Gateway{}
	},
})

// NewPodsShareTheLoad is about long-lived connections: a Service picks a pod once per connection, so a connection that never
// ends never reaches a new pod. The numbers depend on each other; the test beside this file checks them.
var NewPodsShareTheLoad = scenario.Describe(scenario.Spec{
	Name: "chaos/new-pods-share-the-load",
	Claim: "when servers close a connection after 100 requests, scaling from 3 to 10 replicas gives every pod at least a quarter of " +
		"an equal share within 15 s, and loses nothing",
	Backend: workloads.Backend{
		Replicas:   3,
		CloseAfter: 100, // each connection carries 19 requests a second, so it closes every 5 s
	},
	Load:   longLivedLoad,
	Faults: []fault.Fault{fault.Scale{Through: []int{10}}},
	Hold:   75 * time.Second, // shares count for 60 s, in which 360 connections are opened
	Promises: []invariant.Invariant{
		invariant.SharesLoad{Workload: "backend", AtLeast: 0.25, Within: 15 * time.Second},
		invariant.NoFailedRequests{},
	},
	About: 2 * time.Minute,
	Full:  true,
})

// longLivedLoad sends its requests on 32 kept connections.
var longLivedLoad = []load.Lane{
	{
		Lane: history.LaneReused, Rate: 600,
		MaxConnections: load.DefaultConnections, // otherwise a busy machine opens hundreds, which hit all pods evenly
	},
	{Lane: history.LaneControl, Rate: 20},
}

// ConnectionsNeverEnd scales out for nothing: every request still goes to one of the three old pods.
var ConnectionsNeverEnd = scenario.Mutate(NewPodsShareTheLoad, scenario.Mutation{
	Name:     "mutants/connections-never-end",
	Removed:  "closing connections after a number of requests",
	CaughtBy: invariant.SharesLoad{},
	Reason:   judge.AllReady,
	Break:    func(s *scenario.Spec) { s.Backend.CloseAfter = 0 },
})

// NewPodsShareTheLoadLate tries 1000 requests per connection, which is nginx's default. It takes a minute until the last old
// connection has ended, and so few new ones follow that chance leaves some pods out. So nothing is promised of each single pod.
var NewPodsShareTheLoadLate = scenario.Describe(scenario.Spec{
	Name: "chaos/new-pods-share-the-load-late",
	Claim: "when servers close a connection after 1000 requests, scaling from 3 to 10 replicas gives the new pods together a third of " +
		"their share after a minute, and loses nothing",
	Backend: workloads.Backend{
		Replicas:   3,
		CloseAfter: 1000, // each connection carries 19 requests a second, so it closes every 53 s
	},
	Load:   longLivedLoad,
	Faults: []fault.Fault{fault.Scale{Through: []int{10}}},
	Hold:   85 * time.Second, // shares count for 20 s
	Promises: []invariant.Invariant{
		invariant.SharesLoad{Workload: "backend", AtLeast: 0.33, Within: 65 * time.Second, Together: true},
		invariant.NoFailedRequests{},
	},
	About: 2*time.Minute + 15*time.Second,
	Full:  true,
})
