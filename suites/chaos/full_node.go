package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// twoNodes is the smallest cluster with several nodes to balance load over.
var twoNodes = clusters.Spec{Zones: []string{"a", "b"}, WorkersPerZone: 1}

// evenRevision requires an even spread of each revision's pods over the nodes; evenNodes only prefers it.
var (
	evenRevision = []workloads.Spread{{Key: workloads.Host}}
	evenNodes    = []workloads.Spread{{Key: workloads.Host, Unsatisfiable: workloads.ScheduleAnyway}}
)

// FullNode is a rolling update while one of two entry nodes has no room for a new pod.
var FullNode = scenario.Describe(scenario.Spec{
	Name: "chaos/full-node",
	Claim: "an update while a node is full is invisible behind node ports, with pods spread by revision and a gateway that checks " +
		"nodes",
	Cluster:   twoNodes,
	Backend:   workloads.Backend{Replicas: 2, Spread: evenRevision, NodePort: 30080, NodePortLocal: true},
	Gateway:   &workloads.Gateway{},
	NodePorts: 2,
	Load:      scenario.DefaultLoad,
	Faults:    []fault.Fault{fault.FillNode{Worker: 2}, fault.TryRollout{For: 15 * time.Second}},
	Promises:  []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	About:     time.Minute,
	Full:      true,
})
