package upgrade

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// InPlace is the whole of a kubeadm upgrade, node by node. The state in between, with a new control plane and old workers, is one
// that clusters stay in for days: a rolling update and a drain are tried in it. The drains that follow leave nodes empty, which
// nothing in Kubernetes fills again: a last rolling update, as people do after maintenance, spreads the pods anew.
var InPlace = scenario.DescribeUpgrade(scenario.Spec{
	Name: "upgrade/in-place",
	Claim: "bringing a cluster to the next version of Kubernetes, node by node, is invisible to clients of every kind, honours the " +
		"budget, and leaves the pods spread",
	Load:   scenario.EveryLane,
	Steady: 5 * time.Second, // for the hundred answers that a 99th percentile takes: gRPC has 30 a second
	Faults: []fault.Fault{
		fault.UpgradeControlPlane{},
		fault.Brief{Fault: fault.Rollout{}},
		fault.Brief{Fault: fault.Drain{}},
		fault.UpgradeWorkers{},
		fault.Brief{Fault: fault.Rollout{}},
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
