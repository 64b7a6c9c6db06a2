package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// EtcdAway leaves an API server that cannot read or write; the watches stay open, and tell nothing.
//
// What brings etcd back waits for etcd: the kubelet that is to start its static pod is deleting the mirror pod of the one before, for
// which an API server without etcd makes it wait 34 s. Then it does either the one or the other anew, by chance: etcd was seen to
// start after 32 s and after more than three minutes. Nine in a row are one of five hundred.
//
// Source: syncLoopIteration and HandlePodCleanups in k8s.io/kubernetes/pkg/kubelet
var EtcdAway = scenario.Describe(scenario.Spec{
	Name:    "chaos/etcd-away",
	Claim:   "half a minute without etcd is invisible to clients, and what is asked afterwards is done",
	Cluster: controlled,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.ComponentAway{Component: fault.Etcd, For: 30 * time.Second}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.Resumes{Limit: 5 * time.Minute},
	},
	About: 3 * time.Minute,
	Full:  true,
})
