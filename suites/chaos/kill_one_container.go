package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// KillOneContainer kills the process of one pod, as a crash or a lack of memory does.
var KillOneContainer = scenario.Describe(scenario.Spec{
	Name: "chaos/kill-one-container",
	Claim: "after the process of one of six pods is killed, only that pod's share of the requests fails, and none later than 5 s after its kubelet has seen it; " +
		"the pod is ready again within 15 s",
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.KillContainer{}},
	Hold:   10 * time.Second, // nothing is reverted, but what ends the failures must be seen to last
	Promises: []invariant.Invariant{
		invariant.FailuresEndWithin{Limit: 5 * time.Second}, // a kubelet looks each second, and proxies take less than another one
		invariant.RecoversWithin{Workload: "backend", Limit: 15 * time.Second, FromFault: true},
	},
	Full: true,
})
