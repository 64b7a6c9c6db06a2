package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
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

// NodePressureOnTheOnlyNode has all its replicas on the node under pressure, and they may run on no other.
var NodePressureOnTheOnlyNode = scenario.Mutate(NodePressure, scenario.Mutation{
	Name:     "mutants/node-pressure-on-the-only-node",
	Removed:  "spreading over several nodes",
	CaughtBy: invariant.PressureLeaves{},
	Reason:   judge.OneNode,
	Break:    func(s *scenario.Spec) { s.Backend.Spread, s.PinTo = workloads.NoSpread, 1 },
})

// NodePressureTaintsPolicyIgnore uses Kubernetes' default: the tainted node still counts as a domain, an empty one. No
// replacement may be scheduled elsewhere before the empty domain has a pod, which the taint forbids.
var NodePressureTaintsPolicyIgnore = scenario.Mutate(NodePressure, scenario.Mutation{
	Name:     "mutants/node-pressure-taints-policy-ignore",
	Removed:  "nodeTaintsPolicy: Honor",
	CaughtBy: invariant.ReplacedWithin{},
	Reason:   judge.NoNode,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Zone, NodeTaintsPolicy: workloads.Ignore}}
	},
})

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

// NodePressurePreStopAlone has the preStop sleep and the grace period with which a drain or a rollout loses no request. In a
// soft eviction, clients keep connecting to the pod during the sleep, and then the server stops listening.
var NodePressurePreStopAlone = scenario.Mutate(NodePressureSoft, scenario.Mutation{
	Name:     "mutants/node-pressure-prestop-alone",
	Removed:  "a gateway with health checks and retries",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneFresh}, // kept connections are closed gracefully before their pod ends
	Cause:    attribution.CausePressure,
	Break:    func(s *scenario.Spec) { s.Gateway = nil },
})

// NodePressureWithoutAGateway shows what clients see that do not retry. An evicted pod stays a ready endpoint until it has
// ended, and a moment longer.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#hard-eviction-thresholds
var NodePressureWithoutAGateway = scenario.Describe(scenario.Spec{
	Name: "chaos/node-pressure-without-a-gateway",
	Claim: "when a kubelet short of memory evicts a node's pods, only their share of the requests fails, and none later than 5 s after " +
		"the last eviction",
	Cluster:  threeNodes,
	Backend:  workloads.Backend{Budget: noneAllowed},
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.NodePressure{}},
	Hold:     8 * time.Second, // the failures have to end while the pressure lasts
	Promises: []invariant.Invariant{invariant.FailuresEndWithin{Limit: 5 * time.Second}},
	About:    65 * time.Second,
	Full:     true,
})
