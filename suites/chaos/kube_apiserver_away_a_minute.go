package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

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
