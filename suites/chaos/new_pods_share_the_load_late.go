package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

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
