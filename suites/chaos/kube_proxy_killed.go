package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// KubeProxyKilled has every node's kube-proxy write its rules anew while requests flow through them.
var KubeProxyKilled = scenario.Describe(scenario.Spec{
	Name:    "chaos/kube-proxy-killed",
	Claim:   "the sudden death of every kube-proxy is invisible to clients",
	Cluster: smallCluster,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.ComponentKill{Component: fault.KubeProxy}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Limit: time.Minute},
	},
	About: time.Minute,
	Full:  true,
})
