package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// DeschedulerRestoresTheSpread covers the time after a zone's maintenance: the scheduler placed its pods in the other zones and
// leaves them there, so the next zone that fails takes half of them.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#known-limitations
var DeschedulerRestoresTheSpread = scenario.Describe(scenario.Spec{
	Name:    "chaos/descheduler-restores-the-spread",
	Claim:   "a Descheduler brings pods back into a zone that was drained, within the budget and invisibly to clients",
	Backend: workloads.Backend{Replicas: 9},
	Addons:  []workloads.Addon{workloads.Descheduler{Every: 5 * time.Second}},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.Unbalance{}},
	Hold:    65 * time.Second, // longer than the limit below, so that a limit that was missed can be observed
	Promises: []invariant.Invariant{
		// Three pods have to move, and the budget allows one per round of 5 s. A busy machine takes longer.
		invariant.SpreadWithin{Workload: "backend", TopologyKey: workloads.Zone, Max: 1, Limit: time.Minute},
		invariant.BudgetHonoured{},
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
	},
	About: 2 * time.Minute,
	Full:  true,
})

// NoDescheduler shows that nothing else brings the pods back.
var NoDescheduler = scenario.Mutate(DeschedulerRestoresTheSpread, scenario.Mutation{
	Name:     "mutants/no-descheduler",
	Removed:  "a Descheduler",
	CaughtBy: invariant.SpreadWithin{},
	Reason:   judge.HasNodes,
	Break:    func(s *scenario.Spec) { s.Addons = nil },
})

// HorizontalAutoscaling has an autoscaler change the number of replicas, both ways. Each answer costs CPU time: 200 answers a
// second take an eighth of a core or more. That is three times what two replicas request, and what six request.
//
// Source: https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/
var HorizontalAutoscaling = scenario.Describe(scenario.Spec{
	Name: "chaos/horizontal-autoscaling",
	Claim: "a HorizontalPodAutoscaler scales out on metrics-server's measurements, the new pods take at least half of their share, and " +
		"no request fails, not even when it scales in again",
	Backend: workloads.Backend{
		Replicas: 2, Work: time.Millisecond / 2, Resources: workloads.Resources{CPU: "20m"},
		CloseAfter: 50, // each connection carries 5 requests a second, so it closes every 10 s
	},
	Addons: []workloads.Addon{workloads.MetricsServer{Every: 10 * time.Second}},
	Load: []load.Lane{
		{Lane: history.LaneReused, Rate: 150, MaxConnections: load.DefaultConnections},
		{Lane: history.LaneFresh, Rate: 50},
		{Lane: history.LaneControl, Rate: 20},
	},
	Faults: []fault.Fault{fault.Autoscale{CPU: 100, Max: 6}},
	Hold:   time.Minute, // shares are measured during the hold
	Promises: []invariant.Invariant{
		invariant.SharesLoad{Workload: "backend", Together: true, AtLeast: 0.5, Within: 20 * time.Second},
		invariant.NoFailedRequests{},
	},
	About: 4 * time.Minute,
	Full:  true,
})

// AutoscalingForNothing adds pods that get no requests: the old ones stay as busy as before.
var AutoscalingForNothing = scenario.Mutate(HorizontalAutoscaling, scenario.Mutation{
	Name:     "mutants/autoscaling-for-nothing",
	Removed:  "closing connections after a number of requests",
	CaughtBy: invariant.SharesLoad{},
	Reason:   judge.AllReady,
	Break:    func(s *scenario.Spec) { s.Backend.CloseAfter = 0 },
})

// ResizeInPlace changes the CPU requests of running pods instead of replacing the pods, which is stable since Kubernetes 1.35.
//
// Source: https://www.kubernetes.dev/resources/keps/1287/
var ResizeInPlace = scenario.Describe(scenario.Spec{
	Name:     "chaos/resize-in-place",
	Claim:    "all pods can be given four times the CPU time at once, and the old amount again, without a restart and invisibly to clients",
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.Resize{CPU: "20m"}},
	Promises: []invariant.Invariant{invariant.ResizedInPlace{}, invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	Full:     true,
})

// ResizeRestarts restarts every container to resize it, as servers need that read their size once.
//
// Source: https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/#container-resize-policies
var ResizeRestarts = scenario.Mutate(ResizeInPlace, scenario.Mutation{
	Name:     "mutants/resize-restarts",
	Removed:  "a resizePolicy of NotRequired (its default)",
	CaughtBy: invariant.ResizedInPlace{},
	Reason:   judge.Restarted,
	Break:    func(s *scenario.Spec) { s.Backend.ResizeRestarts = true },
})

// ScaleUpAndDown is about new pods that get requests too early and old pods that get them too late.
var ScaleUpAndDown = scenario.Describe(scenario.Spec{
	Name:     "chaos/scale-up-and-down",
	Claim:    "scaling from 6 to 9 to 3 replicas and back is invisible to clients",
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.Scale{Through: []int{9, 3}}},
	Promises: []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
})

// VerticalAutoscaling has a VerticalPodAutoscaler set the requests of running pods.
//
// Source: https://github.com/kubernetes/autoscaler/blob/master/vertical-pod-autoscaler/docs/features.md#in-place-updates-inplaceorrecreate
var VerticalAutoscaling = scenario.Describe(scenario.Spec{
	Name:     "chaos/vertical-autoscaling",
	Claim:    "a VerticalPodAutoscaler in mode InPlaceOrRecreate raises requests that are too low while the pods run, invisibly to clients",
	Addons:   []workloads.Addon{workloads.MetricsServer{Every: 10 * time.Second}, workloads.VerticalRecommender{}, workloads.VerticalUpdater{}},
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.AutoscaleVertically{}},
	Promises: []invariant.Invariant{invariant.ResizedInPlace{Workload: "backend"}, invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	About:    3 * time.Minute,
	Full:     true,
})

// VerticalAutoscalingRestarts has the autoscaler restart the pods it resizes. A budget does not stop it, because it resizes in
// place.
var VerticalAutoscalingRestarts = scenario.Mutate(VerticalAutoscaling, scenario.Mutation{
	Name:     "mutants/vertical-autoscaling-restarts",
	Removed:  "a resizePolicy of NotRequired (its default)",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseRestart,
	Break:    func(s *scenario.Spec) { s.Backend.ResizeRestarts = true },
})
