package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

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
