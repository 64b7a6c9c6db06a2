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
