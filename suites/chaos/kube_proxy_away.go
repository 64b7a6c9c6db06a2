package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// KubeProxyAway leaves each node with the rules it had, because they are in the kernel. A new pod gets no requests until
// kube-proxy is back.
var KubeProxyAway = scenario.Describe(scenario.Spec{
	Name:        "chaos/kube-proxy-away",
	Claim:       "half a minute without any kube-proxy is invisible to clients on every node as long as pods are only added",
	Cluster:     smallCluster,
	Load:        scenario.DefaultLoad,
	LoadWorkers: scenario.LoadWorkers{OnWorkers: 2}, // all workers: a node's own kube-proxy chooses the pods for the clients on it
	Faults:      []fault.Fault{fault.ComponentAway{Component: fault.KubeProxy, For: 30 * time.Second}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Limit: time.Minute},
	},
	About: 2 * time.Minute,
	Full:  true,
})
