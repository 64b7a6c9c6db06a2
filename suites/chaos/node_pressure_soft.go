package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// NodePressureSoft leaves pods their grace period, which does not help as much as in a drain: the eviction is not announced by
// a deletionTimestamp, so the pod stays a ready endpoint during its preStop hook and until its server has exited.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#soft-eviction-thresholds
var NodePressureSoft = scenario.Describe(scenario.Spec{
	Name: "chaos/node-pressure-soft",
	Claim: "a soft eviction by a kubelet short of memory, which leaves pods their grace period and is not stopped by a budget that " +
		"allows no disruption, is invisible to clients behind a gateway with health checks and retries",
	Cluster: threeNodes,
	Backend: workloads.Backend{Budget: noneAllowed},
	Gateway: &workloads.Gateway{},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.NodePressure{Soft: true}},
	Hold:    5 * time.Second,
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.PressureLeaves{Workload: "backend", AtLeast: 4, DespiteBudget: true},
	},
	About: 75 * time.Second,
	Full:  true,
})
