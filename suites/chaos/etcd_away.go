package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// EtcdAway leaves an API server that can neither read nor write. Its watches stay open but deliver nothing.
//
// The return of etcd waits for etcd itself. The kubelet that has to start etcd's static pod is also deleting the old mirror
// pod, and each attempt waits 34 s for an API server that has no etcd. Which of the two the kubelet does next is decided by
// chance: etcd was seen to start after 32 s and after more than three minutes. Nine deletion attempts in a row, which would
// exceed the limit, have a probability of 1 in 500.
//
// Source: syncLoopIteration and HandlePodCleanups in k8s.io/kubernetes/pkg/kubelet
var EtcdAway = scenario.Describe(scenario.Spec{
	Name:    "chaos/etcd-away",
	Claim:   "half a minute without etcd is invisible to clients, and changes requested afterwards are carried out",
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
