package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// controlled is a small cluster whose control plane behaves as kubeadm makes it. With the lab's timings an API server that takes its
// time to start would already make nodes lost.
var controlled = clusters.Spec{Zones: smallCluster.Zones, WorkersPerZone: 1, Profile: clusters.Stock, LeaderElection: true}

// APIServerAway takes the API server away for a minute: whatever was told to nodes and proxies before is what they go on with.
var APIServerAway = scenario.Describe(scenario.Spec{
	Name:    "chaos/kube-apiserver-away-a-minute",
	Claim:   "a minute without an API server is invisible to clients, and what is asked of it afterwards is done",
	Cluster: controlled,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.ComponentAway{Component: fault.APIServer, For: time.Minute}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.Resumes{Limit: 3 * time.Minute}, // the controllers have crashed meanwhile, and wait for up to a minute and a half to be restarted
	},
	About: 4 * time.Minute,
	Full:  true,
})
