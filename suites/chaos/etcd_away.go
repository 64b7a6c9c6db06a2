package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// EtcdAway leaves an API server that cannot read or write; the watches stay open, and tell nothing.
var EtcdAway = scenario.Describe(scenario.Spec{
	Name:    "chaos/etcd-away",
	Claim:   "half a minute without etcd is invisible to clients, and what is asked afterwards is done",
	Cluster: controlled,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.ComponentAway{Component: fault.Etcd, For: 30 * time.Second}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.Resumes{Limit: 3 * time.Minute},
	},
	About: 3 * time.Minute,
	Full:  true,
})
