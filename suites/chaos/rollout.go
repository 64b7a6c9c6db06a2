package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// RollingUpdate replaces every pod twice: by the update, and by its rollback.
var RollingUpdate = scenario.Describe(scenario.Spec{
	Name:  "chaos/rolling-update",
	Claim: "a rolling update and its rollback are invisible to clients",
	Backend: workloads.Backend{
		StartDelay: 2 * time.Second, // a server that starts slowly needs its readiness probe; see mutants/no-readiness-probe
	},
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.Rollout{}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.Spread{Workload: "backend", TopologyKey: workloads.Zone, Max: 1},
	},
	About: 55 * time.Second,
})

// gently is twice what the requests need, on any processor that was tried, but the worker uses it up for something else for 700 ms in
// every three seconds, and sends what was due then afterwards. With 110m and nothing else to do, a slow processor did not send every
// request, and a fast one was never late.
const gently = "250m"

// GentlyThrottledLoadWorker makes the load worker send every request, but some in bursts: an outage before a burst fails none.
// No request is missing, so holdfast must notice that requests were sent late. The workload itself is fine.
var GentlyThrottledLoadWorker = scenario.Mutate(RollingUpdate, scenario.Mutation{
	Name:     "mutants/gently-throttled-load-worker",
	Removed:  "processor time for the load worker to send each request when it is due",
	CaughtBy: invariant.NoFailedRequests{},
	Harness:  true,
	Doubt:    judge.DoubtStarvedWorker,
	Break: func(s *scenario.Spec) {
		s.LoadWorkers.CPU, s.LoadWorkers.Spin = gently, true
		s.Full = true
	},
})

// NoPreStop ends pods while kube-proxy still sends them connections.
var NoPreStop = scenario.Mutate(RollingUpdate, scenario.Mutation{
	Name:     "mutants/no-prestop",
	Removed:  "a preStop sleep",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneFresh}, // kept connections are closed gracefully, with or without a preStop sleep
	Cause:    attribution.CauseLateEndpoint,
	Break: func(s *scenario.Spec) {
		s.Backend.PreStop = workloads.NoPreStop
		s.Backend.StartDelay = 0 // only mutants/no-readiness-probe needs it
	},
})

// NoReadinessProbe gets requests before it listens.
var NoReadinessProbe = scenario.Mutate(RollingUpdate, scenario.Mutation{
	Name:     "mutants/no-readiness-probe",
	Removed:  "a readiness probe for a server that starts slowly",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneFresh}, // a pod that does not listen yet has no kept connections
	Cause:    attribution.CauseReadyTooEarly,
	Break:    func(s *scenario.Spec) { s.Backend.Readiness = workloads.NoReadiness },
})

// throttled is less than the load worker needs for the requests of a scenario, and enough for each lane to send some: with 65m it sent
// 58 of 100, with 30m 5 of 100, and none of those that follow on one lane.
const throttled = "50m"

// ThrottledLoadWorker keeps the load worker from running most of the time. The workload itself is fine.
var ThrottledLoadWorker = scenario.Mutate(RollingUpdate, scenario.Mutation{
	Name:     "mutants/throttled-load-worker",
	Removed:  "processor time for the load worker",
	CaughtBy: invariant.NoFailedRequests{},
	Harness:  true,
	Doubt:    judge.DoubtStarvedWorker,
	Break: func(s *scenario.Spec) {
		s.LoadWorkers.CPU = throttled
		s.Full = true
	},
})

// ThrottledNoPreStop keeps the load worker from running most of the time, and the workload is broken as well: failures that the
// system itself reported still count.
var ThrottledNoPreStop = scenario.Mutate(RollingUpdate, scenario.Mutation{
	Name:     "mutants/throttled-no-prestop",
	Removed:  "a preStop sleep, and processor time for the load worker",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneFresh}, // as in mutants/no-prestop
	Cause:    attribution.CauseLateEndpoint,
	Break: func(s *scenario.Spec) {
		s.Backend.PreStop, s.Backend.StartDelay = workloads.NoPreStop, 0 // as in mutants/no-prestop
		s.LoadWorkers.CPU = throttled
		s.Full = true
	},
})

// RollingUpdateOnePodANode has a pod on each node, and room for one on each. A rolling update can only end an old pod before it starts a
// new one.
//
// Source: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#max-unavailable
var RollingUpdateOnePodANode = scenario.Describe(scenario.Spec{
	Name:    "chaos/rolling-update-one-pod-a-node",
	Claim:   "with maxUnavailable 1, a rolling update of pods that must not share a node comes to its end although each node has one, and so does its rollback",
	Cluster: twoNodes,
	Backend: workloads.Backend{
		Replicas: 2, Spread: workloads.NoSpread, Affinity: []workloads.Affinity{{Key: workloads.Host, Away: true}},
		Strategy: workloads.Strategy{MaxSurge: "0", MaxUnavailable: "1"},
	},
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.TryRollout{}},
	Promises: []invariant.Invariant{invariant.RolloutCompletes{}, invariant.NoFailedRequests{}},
	About:    time.Minute,
	Full:     true,
})

// RolloutWithoutRoom has Kubernetes' defaults for two replicas: a new pod comes first, and no node may take it. No request fails, and the release
// never happens.
var RolloutWithoutRoom = scenario.Mutate(RollingUpdateOnePodANode, scenario.Mutation{
	Name:     "mutants/rollout-without-room",
	Removed:  "an update that removes a pod before it adds one (maxSurge 1 instead of maxUnavailable 1)",
	CaughtBy: invariant.RolloutCompletes{},
	Reason:   judge.NoNode,
	Break: func(s *scenario.Spec) {
		s.Backend.Strategy = workloads.Strategy{MaxSurge: "25%", MaxUnavailable: "0"}
	},
})

// RolloutThatNeverBecomesReady releases a version that hangs during its start, waits for a while, and rolls it back.
var RolloutThatNeverBecomesReady = scenario.Describe(scenario.Spec{
	Name: "chaos/rollout-that-never-becomes-ready",
	Claim: "with maxUnavailable 0, neither the rollout of a version that never becomes ready nor its rollback is noticed by clients, " +
		"and the workload has fully recovered within 30 s of the rollback",
	Backend: workloads.Backend{Strategy: workloads.Strategy{MaxUnavailable: "0"}},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.BadRollout{Args: backend.Options{Broken: backend.Hang}.Args()}},
	Hold:    15 * time.Second, // a good pod is ready 2 s after its start; a busy machine takes longer
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.RecoversWithin{Workload: "backend", Limit: 30 * time.Second}, // most of it is the bad pods' preStop sleep
	},
	About: time.Minute,
	Full:  true,
})

// BadVersionWithoutAReadinessProbe counts a pod as ready as soon as its process runs, so the update replaces every pod that
// serves by one that hangs.
var BadVersionWithoutAReadinessProbe = scenario.Mutate(RolloutThatNeverBecomesReady, scenario.Mutation{
	Name:     "mutants/bad-version-without-a-readiness-probe",
	Removed:  "a readiness probe that tells a bad version from a good one",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseReadyTooEarly,
	Break:    func(s *scenario.Spec) { s.Backend.Readiness = workloads.NoReadiness },
})
