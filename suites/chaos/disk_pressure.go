package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// DiskPressure evicts pods for lack of disk space: the kubelet taints its node and evicts its pods one by one. Budgets do not
// bind a kubelet.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#hard-eviction-thresholds
var DiskPressure = scenario.Describe(scenario.Spec{
	Name: "chaos/disk-pressure",
	Claim: "a kubelet short of disk evicts a node's pods although their budget allows no disruption; behind a gateway with health " +
		"checks and retries no client notices, at least 4 of 6 stay ready, and all are replaced on other nodes within 30 s of the " +
		"node's taint, while the pressure lasts",
	Cluster: threeNodes,
	Backend: workloads.Backend{Budget: noneAllowed},
	Gateway: &workloads.Gateway{},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.NodePressure{Disk: true}},
	Hold:    35 * time.Second, // longer than the pods may take to be replaced
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.PressureLeaves{Workload: "backend", AtLeast: 4, DespiteBudget: true},
		invariant.ReplacedWithin{Workload: "backend", Limit: 30 * time.Second},
	},
	About: 90 * time.Second,
	Full:  true,
})
