package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// FreezeOneWorkerBehindAGateway is a machine that hangs. Its kernel accepts every connection and no process answers, so the
// client gets no error and only its own time-out detects the fault. The return is the harder half: the pods now answer old
// requests whose clients are gone, and the kubelet learns which of its pods were deleted in the meantime.
var FreezeOneWorkerBehindAGateway = scenario.Describe(scenario.Spec{
	Name: "chaos/freeze-one-worker-behind-a-gateway",
	Claim: "a worker that hangs and later resumes is invisible to clients behind a gateway with health checks, time-outs and " +
		"retries; its pods are replaced on other nodes within 28 s, while it hangs",
	Cluster: threeNodes,
	Gateway: &workloads.Gateway{},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.NodePause{}},
	Hold:    30 * time.Second, // longer than the lab profile needs to notice the loss and to replace the pods
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.ReplacedWithin{Workload: "backend", Limit: 28 * time.Second},
		invariant.RecoversWithin{Workload: "backend", Limit: time.Minute}, // the kubelet ends the deleted pods gracefully
	},
	About: 90 * time.Second,
	Full:  true,
})
