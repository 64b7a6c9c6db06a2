package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge"
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

// controlled is a small cluster with the control plane that kubeadm sets up. With the lab's timings, the slow start of an API
// server would already mark nodes as lost.
var controlled = clusters.Spec{Zones: smallCluster.Zones, WorkersPerZone: 1, Profile: clusters.Stock, LeaderElection: true}

// APIServerAway takes the API server away for a minute: nodes and proxies continue with what they last received from it.
var APIServerAway = scenario.Describe(scenario.Spec{
	Name:    "chaos/kube-apiserver-away-a-minute",
	Claim:   "a minute without an API server is invisible to clients, and changes requested afterwards are carried out",
	Cluster: controlled,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.ComponentAway{Component: fault.APIServer, For: time.Minute}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.Resumes{Limit: 3 * time.Minute}, // the controllers have crashed meanwhile, and their restart backs off for up to 90 s
	},
	About: 4 * time.Minute,
	Full:  true,
})

// APIServerKilled breaks all watches at once and makes every client reconnect.
var APIServerKilled = scenario.Describe(scenario.Spec{
	Name:    "chaos/kube-apiserver-killed",
	Claim:   "the sudden death of the API server is invisible to clients",
	Cluster: controlled,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.ComponentKill{Component: fault.APIServer}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Limit: 2 * time.Minute},
	},
	About: 90 * time.Second,
	Full:  true,
})

// ControllerManagerAway leaves a scaled Deployment as it was: nothing creates the pod.
var ControllerManagerAway = scenario.Describe(scenario.Spec{
	Name: "chaos/kube-controller-manager-away",
	Claim: "without a controller manager a scaled Deployment stays as it is, clients notice nothing, and it is scaled once the " +
		"controller manager is back",
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.ComponentAway{Component: fault.ControllerManager, For: 20 * time.Second}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.Resumes{Limit: time.Minute},
	},
	About: 90 * time.Second,
	Full:  true,
})

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

// smallCluster has two workers, which is enough where the fault does not concern the placement of pods.
var smallCluster = clusters.Spec{Zones: []string{"a", "b"}, WorkersPerZone: 1}

// SchedulerAway leaves a new pod without a node, and nothing else changes.
var SchedulerAway = scenario.Describe(scenario.Spec{
	Name:   "chaos/kube-scheduler-away",
	Claim:  "without a scheduler a new pod waits, clients notice nothing, and it is placed once the scheduler is back",
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.ComponentAway{Component: fault.Scheduler, For: 20 * time.Second}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.Resumes{Limit: time.Minute},
	},
	About: 90 * time.Second,
	Full:  true,
})

// PastTheAbsentScheduler sets spec.nodeName, so a new pod starts although there is no scheduler.
var PastTheAbsentScheduler = scenario.Mutate(SchedulerAway, scenario.Mutation{
	Name:     "mutants/past-the-absent-scheduler",
	Removed:  "the scheduler (spec.nodeName in the pod template)",
	CaughtBy: invariant.Resumes{},
	Reason:   judge.PastScheduler,
	Break:    func(s *scenario.Spec) { s.PinTo, s.Backend.PastScheduler = 1, true },
})
