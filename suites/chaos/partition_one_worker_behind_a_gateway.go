package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// PartitionOneWorkerBehindAGateway cuts a node off on which all goes on. Kubernetes gives its pods up and makes others; when the
// network is back, there are both for a while, until the kubelet hears which were given up. Clients must notice neither.
//
// Source: https://kubernetes.io/docs/concepts/architecture/nodes/#node-controller
var PartitionOneWorkerBehindAGateway = scenario.Describe(scenario.Spec{
	Name: "chaos/partition-one-worker-behind-a-gateway",
	Claim: "a worker that is cut off the network, and comes back with its pods still running, is invisible to clients behind a gateway with health " +
		"checks and retries; its pods are replaced on other nodes within 28 s, while it is cut off",
	Cluster: threeNodes,
	Gateway: &workloads.Gateway{},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.Partition{}},
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
