package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// KubeProxyAway leaves each node with the rules that it had: they are the kernel's. A pod that is new gets no request until it is back.
var KubeProxyAway = scenario.Describe(scenario.Spec{
	Name:          "chaos/kube-proxy-away",
	Claim:         "half a minute without any kube-proxy is invisible to clients on every node while only new pods come",
	Cluster:       smallCluster,
	Load:          scenario.DefaultLoad,
	LoadOnWorkers: 2, // all there are: to the clients on a node, its own kube-proxy deals the requests
	Faults:        []fault.Fault{fault.ComponentAway{Component: fault.KubeProxy, For: 30 * time.Second}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Limit: time.Minute},
	},
	About: 2 * time.Minute,
	Full:  true,
})
