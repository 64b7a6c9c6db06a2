package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// ThreeControlPlanes is as small as a cluster can be that has them: its nodes want the processors, too.
var ThreeControlPlanes = clusters.Spec{ControlPlanes: 3, Zones: []string{"a", "b"}, WorkersPerZone: 1}

// KillOneControlPlane takes the one whose member of etcd leads.
var KillOneControlPlane = scenario.Describe(scenario.Spec{
	Name:    "chaos/kill-one-control-plane",
	Claim:   "the sudden death of one control plane of three is invisible to clients, and the API servers that are left answer again within 10 s",
	Cluster: ThreeControlPlanes,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.ControlPlaneKill{}},
	Hold:    40 * time.Second, // another controller manager takes over after 17 s, and only then is the loss noticed
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.APIAnswersWithin{Limit: 10 * time.Second}, // an election takes etcd one to two seconds, a busy machine longer
	},
	About: 2 * time.Minute,
	Full:  true,
})
