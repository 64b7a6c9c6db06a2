package upgrade

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// InPlace is a whole kubeadm upgrade, node by node. Clusters stay for days in the state in between, with a new control plane
// and old workers, so a rolling update and a drain are tried in that state. The drains that follow leave nodes empty, and
// nothing in Kubernetes fills them again. As people do after maintenance, a last rolling update therefore spreads the pods
// evenly.
var InPlace = scenario.DescribeUpgrade(scenario.Spec{
	Name: "upgrade/in-place",
	Claim: "upgrading a cluster to the next version of Kubernetes, node by node, is invisible to clients of every kind, honours the " +
		"budget, and leaves the pods evenly spread",
	Load:   scenario.EveryLane,
	Steady: 5 * time.Second, // for the hundred answers that a 99th percentile needs: gRPC gets 30 per second
	Faults: []fault.Fault{
		fault.UpgradeControlPlane{},
		fault.RevertImmediately{Fault: fault.Rollout{}},
		fault.RevertImmediately{Fault: fault.Drain{}},
		fault.UpgradeWorkers{},
		fault.RevertImmediately{Fault: fault.Rollout{}},
	},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.BudgetHonoured{},
		invariant.Spread{Workload: "backend", TopologyKey: workloads.Zone, Max: 1},
		invariant.Placement{},
	},
	About: 8 * time.Minute,
})
