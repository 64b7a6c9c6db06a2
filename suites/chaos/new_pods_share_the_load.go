package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// NewPodsShareTheLoad is about long-lived connections: a Service picks a pod for each, once, so that what never ends never
// reaches a new pod. Its numbers belong together; the test beside it says how.
var NewPodsShareTheLoad = scenario.Describe(scenario.Spec{
	Name: "chaos/new-pods-share-the-load",
	Claim: "when servers close a connection after 100 requests, scaling from 3 to 10 replicas gives every pod at least a quarter of " +
		"an equal share within 15 s, and loses nothing",
	Backend: workloads.Backend{
		Replicas:   3,
		CloseAfter: 100, // at 19 requests a second on each connection: every 5 s
	},
	Load:   longLivedLoad,
	Faults: []fault.Fault{fault.Scale{Through: []int{10}}},
	Hold:   75 * time.Second, // 60 s that count, in which 360 connections are dealt
	Promises: []invariant.Invariant{
		invariant.SharesLoad{Workload: "backend", AtLeast: 0.25, Within: 15 * time.Second},
		invariant.NoFailedRequests{},
	},
	About: 2 * time.Minute,
	Full:  true,
})

// longLivedLoad is on connections that are kept, 32 of them.
var longLivedLoad = []load.Lane{
	{
		Lane: history.LaneReused, Rate: 600,
		MaxConnections: load.DefaultConnections, // a busy machine would open hundreds, and chance deal them out evenly, old pods or new
	},
	{Lane: history.LaneControl, Rate: 20},
}
