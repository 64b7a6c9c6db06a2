package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// KubeProxyKilled makes every node's kube-proxy rewrite its rules while requests flow through them.
var KubeProxyKilled = scenario.Describe(scenario.Spec{
	Name:        "chaos/kube-proxy-killed",
	Claim:       "the sudden death of every kube-proxy is invisible to clients on every node",
	Cluster:     smallCluster,
	Load:        scenario.DefaultLoad,
	LoadWorkers: scenario.LoadWorkers{OnWorkers: 2}, // all workers: a node's own kube-proxy chooses the pods for the clients on it
	Faults:      []fault.Fault{fault.ComponentKill{Component: fault.KubeProxy}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Limit: time.Minute},
	},
	About: time.Minute,
	Full:  true,
})
