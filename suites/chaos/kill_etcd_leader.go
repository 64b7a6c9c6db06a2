package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// KillEtcdLeader makes the other members elect a new leader, and gives them work at once.
var KillEtcdLeader = scenario.Describe(scenario.Spec{
	Name: "chaos/kill-etcd-leader",
	Claim: "when etcd's leader dies, another member takes over, a rolling update right afterwards is invisible to clients, and the API " +
		"answers again within 10 s",
	Cluster: ThreeControlPlanes,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.EtcdLeaderKill{}, fault.Rollout{}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.APIAnswersWithin{Limit: 10 * time.Second}, // as in KillOneControlPlane
	},
	About: 100 * time.Second,
	Full:  true,
})
