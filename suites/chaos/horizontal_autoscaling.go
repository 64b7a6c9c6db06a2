package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

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
