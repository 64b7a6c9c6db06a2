package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// PartitionOneWorker is PartitionOneWorkerBehindAGateway without the gateway. Nothing resets the connections, as the kernel of
// a killed node does: each request fails by the client's own time-out.
var PartitionOneWorker = scenario.Describe(scenario.Spec{
	Name: "chaos/partition-one-worker",
	Claim: "after a worker is cut off from the network, only its share of the requests fails, and only for the predicted time, as if " +
		"it had died",
	Cluster:  threeNodes,
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.Partition{}},
	Hold:     18 * time.Second, // longer than the predicted 13 s: the failures must end before the undo
	Promises: []invariant.Invariant{invariant.FailuresEndWithin{}},
	About:    70 * time.Second,
	Full:     true,
})
