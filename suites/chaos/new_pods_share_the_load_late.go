package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// NewPodsShareTheLoadLate is what 1000 requests a connection, nginx's default, are worth. A minute passes before the last
// old connection has ended, and those that follow are so few that chance leaves some pods out: nothing is promised of each.
var NewPodsShareTheLoadLate = scenario.Describe(scenario.Spec{
	Name: "chaos/new-pods-share-the-load-late",
	Claim: "when servers close a connection after 1000 requests, scaling from 3 to 10 replicas gives the new pods together a third of " +
		"their share after a minute, and loses nothing",
	Backend: workloads.Backend{
		Replicas:   3,
		CloseAfter: 1000, // at 19 requests a second on each connection: every 53 s
	},
	Load:   longLivedLoad,
	Faults: []fault.Fault{fault.Scale{Through: []int{10}}},
	Hold:   85 * time.Second, // 20 s that count
	Promises: []invariant.Invariant{
		invariant.SharesLoad{Workload: "backend", AtLeast: 0.33, Within: 65 * time.Second, Together: true},
		invariant.NoFailedRequests{},
	},
	About: 2*time.Minute + 15*time.Second,
	Full:  true,
})
