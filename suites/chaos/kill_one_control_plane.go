package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// ThreeControlPlanes has few workers, because the control planes need CPU time, too.
var ThreeControlPlanes = clusters.Spec{ControlPlanes: 3, Zones: []string{"a", "b"}, WorkersPerZone: 1}

// KillOneControlPlane kills the control plane node whose etcd member is the leader.
var KillOneControlPlane = scenario.Describe(scenario.Spec{
	Name: "chaos/kill-one-control-plane",
	Claim: "killing one control plane of three, whose kernel closes its connections, is invisible to clients, and the remaining API " +
		"servers answer again within 10 s",
	Cluster: ThreeControlPlanes,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.ControlPlaneKill{}},
	Hold:    40 * time.Second, // another controller manager takes over after 17 s, and only then can it notice the loss
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.APIAnswersWithin{Limit: 10 * time.Second}, // etcd's election takes one to two seconds, longer on a busy machine
	},
	About: 2 * time.Minute,
	Full:  true,
})
