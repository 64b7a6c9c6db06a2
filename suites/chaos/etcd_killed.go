package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// EtcdKilled takes the API server's store away until the kubelet has restarted etcd.
var EtcdKilled = scenario.Describe(scenario.Spec{
	Name:    "chaos/etcd-killed",
	Claim:   "the sudden death of etcd is invisible to clients",
	Cluster: controlled,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.ComponentKill{Component: fault.Etcd}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Limit: 2 * time.Minute},
	},
	About: 90 * time.Second,
	Full:  true,
})
