package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// FreezeOneWorkerBehindAGateway is a machine that hangs. Its kernel takes every connection, and nobody answers: who waits for
// an error waits for ever, and only a time-out of one's own tells. That it comes back is the harder half: what its pods were
// asked before, they answer now, to nobody, and a kubelet that was away hears which of its pods were given up.
var FreezeOneWorkerBehindAGateway = scenario.Describe(scenario.Spec{
	Name: "chaos/freeze-one-worker-behind-a-gateway",
	Claim: "a worker that hangs, and goes on later, is invisible to clients behind a gateway with health checks, time-outs and retries; its pods are " +
		"replaced on other nodes within 28 s, while it hangs",
	Cluster: threeNodes,
	Gateway: &workloads.Gateway{},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.NodePause{}},
	Hold:    30 * time.Second, // longer than the lab profile needs to notice the loss and to replace the pods
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.ReplacedWithin{Workload: "backend", Limit: 28 * time.Second},
		invariant.RecoversWithin{Workload: "backend", Limit: time.Minute}, // it ends the pods that were given up, each in its grace period
	},
	About: 90 * time.Second,
	Full:  true,
})
