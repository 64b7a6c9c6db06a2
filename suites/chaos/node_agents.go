package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// ContainerdAway stops containerd on one worker: its containers keep running, but none can be started or stopped.
var ContainerdAway = scenario.Describe(scenario.Spec{
	Name:    "chaos/containerd-away",
	Claim:   "half a minute without a worker's containerd is invisible to clients",
	Cluster: smallCluster,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.ComponentAway{Component: fault.Containerd, For: 30 * time.Second}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Limit: 2 * time.Minute},
	},
	About: 2 * time.Minute,
	Full:  true,
})

// ContainerdKilled kills containerd on one worker; the containers keep running under their shims.
var ContainerdKilled = scenario.Describe(scenario.Spec{
	Name:    "chaos/containerd-killed",
	Claim:   "the sudden death of a worker's containerd is invisible to clients",
	Cluster: smallCluster,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.ComponentKill{Component: fault.Containerd}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Limit: time.Minute},
	},
	About: time.Minute,
	Full:  true,
})

// KubeletAway makes a node lost while its pods keep serving: the pods are removed from the Service, replaced elsewhere, and
// ended when the kubelet is back.
var KubeletAway = scenario.Describe(scenario.Spec{
	Name:   "chaos/kubelet-away",
	Claim:  "the pods of a worker whose kubelet is away for a minute are replaced on other workers, and clients notice nothing",
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.ComponentAway{Component: fault.Kubelet, For: time.Minute}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.ReplacedWithin{Limit: 50 * time.Second},
	},
	About: 2 * time.Minute,
	Full:  true,
})
