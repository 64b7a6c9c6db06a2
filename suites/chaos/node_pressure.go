package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// threeNodes run two of six pods each, which a kubelet evicts one after the other.
var threeNodes = clusters.Spec{Zones: []string{"a", "b", "c"}, WorkersPerZone: 1}

// noneAllowed is a budget that refuses every eviction through the API.
var noneAllowed = workloads.Budget{MaxUnavailable: "0"}

// NodePressure is a hard eviction: a pod gets one second, whatever its grace period, and its preStop hook is cut short. Only
// clients that retry on another pod notice nothing.
//
// A kubelet checks its thresholds every 10 s and evicts one pod at a time. The limit of 30 s is for the wait before the first of two
// evictions, a few seconds for each of them, and the start of the last replacement.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#hard-eviction-thresholds
var NodePressure = scenario.Describe(scenario.Spec{
	Name: "chaos/node-pressure",
	Claim: "a kubelet short of memory evicts a node's pods although their budget allows no disruption; behind a gateway with health " +
		"checks and retries no client notices, at least 4 of 6 stay ready, and all are replaced on other nodes within 30 s of the " +
		"node's taint, while the pressure lasts",
	Cluster: threeNodes,
	Backend: workloads.Backend{Budget: noneAllowed},
	Gateway: &workloads.Gateway{},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.NodePressure{}},
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
