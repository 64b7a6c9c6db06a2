package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// FreezeOneWorker is FreezeOneWorkerBehindAGateway without the gateway: a client that was sent to one of the node's pods waits
// in vain until Kubernetes has noticed.
var FreezeOneWorker = scenario.Describe(scenario.Spec{
	Name:     "chaos/freeze-one-worker",
	Claim:    "after a worker hangs only its share of the requests fails, and only for the predicted time, as if it had died",
	Cluster:  threeNodes,
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.NodePause{}},
	Hold:     18 * time.Second, // longer than the predicted 13 s: the failures must end before the undo
	Promises: []invariant.Invariant{invariant.FailuresEndWithin{}},
	About:    70 * time.Second,
	Full:     true,
})
