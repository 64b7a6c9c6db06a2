package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// PartitionOneWorkerBehindAGateway cuts off a node whose pods keep running. Kubernetes deletes its pods and creates others.
// When the network is back, both run for a while, until the kubelet learns which pods were deleted. Clients must notice
// neither.
//
// Source: https://kubernetes.io/docs/concepts/architecture/nodes/#node-controller
var PartitionOneWorkerBehindAGateway = scenario.Describe(scenario.Spec{
	Name: "chaos/partition-one-worker-behind-a-gateway",
	Claim: "a worker that is cut off from the network, and comes back with its pods still running, is invisible to clients behind a " +
		"gateway with health checks and retries; its pods are replaced on other nodes within 28 s, while it is cut off",
	Cluster: threeNodes,
	Gateway: &workloads.Gateway{},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.Partition{}},
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
