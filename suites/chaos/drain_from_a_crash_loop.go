package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

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
