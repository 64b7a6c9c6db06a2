package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// PartitionOneWorker is the same without a gateway. Nobody resets a connection, as a machine that dies does: each fails by the
// client's own time-out.
var PartitionOneWorker = scenario.Describe(scenario.Spec{
	Name:     "chaos/partition-one-worker",
	Claim:    "after a worker is cut off the network only its share of the requests fails, and only for the predicted time, as if it had died",
	Cluster:  threeNodes,
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.Partition{}},
	Hold:     18 * time.Second, // 13 s are predicted: the failures have to end while it is cut off
	Promises: []invariant.Invariant{invariant.FailuresEndWithin{}},
	About:    70 * time.Second,
	Full:     true,
})
