package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// KillOneWorkerOfThreeReplicas is a common set-up: one replica in each zone.
var KillOneWorkerOfThreeReplicas = scenario.Describe(scenario.Spec{
	Name: "chaos/kill-one-worker-of-three-replicas",
	Claim: "with three replicas in three zones behind a gateway with health checks, clients do not notice when the node of " +
		"one replica is killed and its kernel closes its connections",
	Backend:  workloads.Backend{Replicas: 3},
	Gateway:  &workloads.Gateway{},
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.NodeKill{}},
	Hold:     20 * time.Second, // longer than the lab profile needs to notice the loss and to replace the pod
	Promises: []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	About:    50 * time.Second,
	Full:     true,
})
