package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// ABudgetOfAllBlocksADrain has a budget that can never be met while a pod is evicted: a node upgrade that drains first waits
// for ever.
var ABudgetOfAllBlocksADrain = scenario.Describe(scenario.Spec{
	Name: "chaos/a-budget-of-all-blocks-a-drain",
	Claim: "a budget that requires every replica blocks a drain for as long as it is tried: no pod terminates, no request fails, and " +
		"the node is schedulable again afterwards",
	Backend: workloads.Backend{Budget: workloads.Budget{MinAvailable: "6"}},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.TryDrain{For: 15 * time.Second}},
	Promises: []invariant.Invariant{
		invariant.DrainBlocked{Budget: "backend", For: 10 * time.Second}, // of the 15 s tried: the API server of a busy machine answers late
		invariant.BudgetHonoured{MustRefuse: true},
		invariant.NoFailedRequests{Refused: true},
	},
	About: 50 * time.Second,
	Full:  true,
})

// ABudgetOfAllButOne has a budget that lets the drain through: the budget that the other scenarios use as good practice.
var ABudgetOfAllButOne = scenario.Mutate(ABudgetOfAllBlocksADrain, scenario.Mutation{
	Name:     "mutants/a-budget-of-all-but-one",
	Removed:  "a budget that requires every replica (it requires five of six)",
	CaughtBy: invariant.DrainBlocked{},
	Reason:   judge.Evicted,
	Break:    func(s *scenario.Spec) { s.Backend.Budget = workloads.Budget{MinAvailable: "5"} },
})

// DrainFromACrashLoop rolls out a bad version that leaves one of six pods in a crash loop, and then drains that pod's node. The
// budget requires six healthy pods and finds five, so it allows no disruption at all.
var DrainFromACrashLoop = scenario.Describe(scenario.Spec{
	Name:  "chaos/drain-from-a-crash-loop",
	Claim: "with unhealthyPodEvictionPolicy AlwaysAllow, a pod in a crash loop does not block the drain of its node, and no request fails",
	Backend: workloads.Backend{
		Budget:   workloads.Budget{MinAvailable: "6"}, // AlwaysAllow is the default here
		Strategy: workloads.Strategy{MaxSurge: "0", MaxUnavailable: "1"},
		Affinity: []workloads.Affinity{{Key: workloads.Host, Away: true}}, // otherwise the budget rightly keeps a healthy pod on that node
	},
	Load: scenario.DefaultLoad,
	Faults: []fault.Fault{
		fault.BadRollout{Args: backend.Options{Broken: backend.Crash}.Args()},
		fault.TryDrain{For: 30 * time.Second, Unready: true}, // a conflict with the kubelet costs 10 s
	},
	Promises: []invariant.Invariant{
		invariant.DrainCompletes{Unready: true},
		invariant.BudgetHonoured{},
		invariant.NoFailedRequests{},
	},
	About: time.Minute,
	Full:  true,
})

// IfHealthyBudget uses Kubernetes' default: a pod that serves no requests blocks the drain of its node.
var IfHealthyBudget = scenario.Mutate(DrainFromACrashLoop, scenario.Mutation{
	Name:     "mutants/if-healthy-budget",
	Removed:  "unhealthyPodEvictionPolicy AlwaysAllow",
	CaughtBy: invariant.DrainCompletes{},
	Reason:   judge.Refused,
	Break:    func(s *scenario.Spec) { s.Backend.Budget.UnhealthyPodEvictionPolicy = "IfHealthyBudget" },
})

// DrainOneWorker drains one worker, as a node upgrade does for one node after the other.
var DrainOneWorker = scenario.Describe(scenario.Spec{
	Name:   "chaos/drain-one-worker",
	Claim:  "draining one worker is invisible to clients, and honours the budget",
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.Drain{}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.BudgetHonoured{},
	},
})

// DrainTwoWorkers drains the two nodes that run the only two pods, at the same time. A budget exists for this case.
var DrainTwoWorkers = scenario.Describe(scenario.Spec{
	Name:  "chaos/drain-two-workers",
	Claim: "draining both nodes of a workload at once is invisible to clients, because a budget makes one wait for the other",
	Backend: workloads.Backend{
		Replicas:   2,
		StartDelay: 6 * time.Second, // twice the preStop sleep: if both pods ended together, their replacements would be ready too late
	},
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.Drain{Nodes: 2}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.BudgetHonoured{MustRefuse: true},
	},
	About: 45 * time.Second,
})

// NoBudget loses both pods at once when both their nodes are drained.
var NoBudget = scenario.Mutate(DrainTwoWorkers, scenario.Mutation{
	Name:     "mutants/no-budget",
	Removed:  "a disruption budget",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseOutageEviction,
	Break:    func(s *scenario.Spec) { s.Backend.Budget = workloads.NoBudget },
})

// DrainWithMaxUnavailable is DrainWithMinAvailable with the same budget written as maxUnavailable.
var DrainWithMaxUnavailable = scenario.Describe(scenario.Spec{
	Name: "chaos/drain-with-max-unavailable",
	Claim: "with maxUnavailable 1 of 3, draining two nodes at once takes the pods one by one, each after the previous pod's " +
		"replacement is ready",
	Backend: workloads.Backend{
		Replicas:   3,
		Budget:     workloads.Budget{MaxUnavailable: "1"},
		StartDelay: 8 * time.Second, // longer than the preStop sleep: if pods ended together, their replacements would be ready too late
	},
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.Drain{Nodes: 2}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.BudgetHonoured{MustRefuse: true, AtLeast: 2},
	},
	About: time.Minute,
	Full:  true,
})

// DrainWithMinAvailable drains two of the three nodes that run a pod. The budget allows one disruption at a time.
var DrainWithMinAvailable = scenario.Describe(scenario.Spec{
	Name: "chaos/drain-with-min-available",
	Claim: "with minAvailable 2 of 3, draining two nodes at once takes the pods one by one, each after the previous pod's replacement " +
		"is ready",
	Backend: workloads.Backend{
		Replicas:   3,
		Budget:     workloads.Budget{MinAvailable: "2"},
		StartDelay: 8 * time.Second, // longer than the preStop sleep: if pods ended together, their replacements would be ready too late
	},
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.Drain{Nodes: 2}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.BudgetHonoured{MustRefuse: true, AtLeast: 2},
	},
	About: time.Minute,
	Full:  true,
})

// DrainWithoutABudget shows what spreading achieves alone: draining a node ends one pod of six.
var DrainWithoutABudget = scenario.Describe(scenario.Spec{
	Name:  "chaos/drain-without-a-budget",
	Claim: "draining one node of a workload that is spread over all of them is invisible to clients, even without a budget",
	Backend: workloads.Backend{
		Budget:     workloads.NoBudget,
		StartDelay: 8 * time.Second, // longer than the preStop sleep: if pods ended together, their replacements would be ready too late
	},
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.Drain{}},
	Promises: []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	Full:     true,
})

// DrainOfTheOnlyNode has all six replicas on one node, so draining it is an outage. The outage lasts more than five minutes,
// because the scheduler does not retry the new pods when the last old pod is gone.
//
// Source: https://github.com/kubernetes/kubernetes/issues/141354
var DrainOfTheOnlyNode = scenario.Mutate(DrainWithoutABudget, scenario.Mutation{
	Name:     "mutants/drain-of-the-only-node",
	Removed:  "topology spread constraints",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseOutageEviction,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = workloads.NoSpread
		s.About = 6 * time.Minute
		s.Backend.Affinity = []workloads.Affinity{{Key: workloads.Host}} // to its own pods: the second replica follows the first
	},
})
