package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

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
