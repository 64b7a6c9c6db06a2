package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// KubeletAway has a node be given up while its pods go on serving: they are replaced, taken out of the Service, and ended when the kubelet
// is back.
var KubeletAway = scenario.Describe(scenario.Spec{
	Name:   "chaos/kubelet-away",
	Claim:  "a worker whose kubelet is away for a minute loses its pods to others, and clients notice nothing",
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.ComponentAway{Component: fault.Kubelet, For: time.Minute}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.ReplacedWithin{Limit: 50 * time.Second},
	},
	About: 2 * time.Minute,
	Full:  true,
})
