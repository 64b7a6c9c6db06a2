package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// KillOneWorker is KillOneWorkerBehindAGateway without the gateway: requests fail, but only the victim's share of them, and
// only until Kubernetes has noticed.
var KillOneWorker = scenario.Describe(scenario.Spec{
	Name: "chaos/kill-one-worker",
	Claim: "after a worker is killed and its kernel closes its connections, only its share of the requests fails, only for the " +
		"predicted time, and no more than one request in ten",
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.NodeKill{}},
	Hold:   18 * time.Second, // longer than the predicted 13 s: the failures must end before the undo
	Promises: []invariant.Invariant{
		invariant.FailuresEndWithin{},
		invariant.FewFailedRequests{Share: 0.1}, // one of six endpoints for at most 13 s of 35 s is 6.2 % on new connections, and less on kept ones
	},
	About: 50 * time.Second,
	Stock: true,
})
