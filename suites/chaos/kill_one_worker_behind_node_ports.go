package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// KillOneWorkerBehindNodePorts is the common set-up of a load balancer outside the cluster that knows node addresses.
var KillOneWorkerBehindNodePorts = scenario.Describe(scenario.Spec{
	Name: "chaos/kill-one-worker-behind-node-ports",
	Claim: "killing one of two entry nodes, whose kernel closes its connections, is invisible to clients behind a gateway that checks " +
		"them",
	Backend:   workloads.Backend{NodePort: 30080, NodePortLocal: true}, // otherwise the surviving entry node forwards to pods on the dead one
	Gateway:   &workloads.Gateway{},
	NodePorts: 2,
	Load:      scenario.DefaultLoad,
	Faults:    []fault.Fault{fault.NodeKill{Worker: 2}},
	Hold:      15 * time.Second, // longer than the lab profile needs to notice the loss
	Promises:  []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	About:     50 * time.Second,
})
