package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// PartitionOneZoneBehindAGateway cuts a whole zone off from all others, while its nodes still reach each other. That is how a
// failing uplink usually looks.
var PartitionOneZoneBehindAGateway = scenario.Describe(scenario.Spec{
	Name: "chaos/partition-one-zone-behind-a-gateway",
	Claim: "a zone that is cut off from the network, and comes back with its pods still running, is invisible to clients behind a " +
		"gateway outside the zone",
	Gateway: &workloads.Gateway{},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.Partition{Zone: true}},
	Hold:    30 * time.Second, // longer than the lab profile needs to notice the loss of both nodes
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Workload: "backend", Limit: 90 * time.Second}, // two nodes have to end the pods that were deleted meanwhile
	},
	About: 100 * time.Second,
	Full:  true,
	Stock: true,
})
