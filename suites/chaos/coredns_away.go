package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// CoreDNSAway takes cluster DNS away. Clients that use the Service's address do not need it.
var CoreDNSAway = scenario.Describe(scenario.Spec{
	Name:    "chaos/coredns-away",
	Claim:   "half a minute without cluster DNS is invisible to clients that use a Service by its address",
	Cluster: smallCluster,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.ComponentAway{Component: fault.CoreDNS, For: 30 * time.Second}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Limit: time.Minute},
	},
	About: 2 * time.Minute,
	Full:  true,
})
