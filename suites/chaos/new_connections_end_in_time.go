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

// NewConnectionsEndInTime measures how long a preStop sleep has to be: how long after its deletion a pod still gets new
// connections, over 120 deletions. Its own sleep is longer than the one it certifies, so that what comes late is answered,
// and so counted.
var NewConnectionsEndInTime = scenario.Describe(scenario.Spec{
	Name:  "chaos/new-connections-end-in-time",
	Claim: "a preStop sleep of 3 s is enough: later than that after its deletion no pod gets a new connection, in more than 100 deletions",
	Backend: workloads.Backend{
		Replicas: 12, // two on each worker
		Strategy: workloads.Strategy{MaxSurge: "100%"},
		PreStop:  5 * time.Second, // two more than are certified
	},
	Load: []load.Lane{
		{Lane: history.LaneFresh, Rate: 400}, // a connection to each pod every 30 ms, or 60 ms while there are twice as many
		{Lane: history.LaneControl, Rate: 20},
	},
	// Each replaces 12 pods, and so does its undo.
	Faults: []fault.Fault{fault.Rollout{}, fault.Rollout{}, fault.Rollout{}, fault.Rollout{}, fault.Rollout{}},
	Promises: []invariant.Invariant{
		invariant.QuietWithin{Limit: 3 * time.Second, Terminations: 100},
		invariant.NoFailedRequests{},
	},
	About: 3 * time.Minute,
	Full:  true,
})
