package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// FullNodeThenALostOne shows what neither remedy survives alone: the death of the node that is not full.
var FullNodeThenALostOne = scenario.Describe(scenario.Spec{
	Name: "chaos/full-node-then-a-lost-one",
	Claim: "with pods spread by revision and a gateway that checks nodes, clients notice nothing even when one node dies after the " +
		"other filled up",
	Cluster:   twoNodes,
	Backend:   workloads.Backend{Replicas: 2, Spread: evenRevision, NodePort: 30080, NodePortLocal: true},
	Gateway:   &workloads.Gateway{},
	NodePorts: 2,
	Load:      scenario.DefaultLoad,
	Faults: []fault.Fault{
		fault.FillNode{Worker: 2}, fault.TryRollout{For: 15 * time.Second}, fault.NodeKill{Worker: 1},
	},
	Hold:     15 * time.Second, // longer than the lab profile needs to notice the loss
	Promises: []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	About:    90 * time.Second,
	Full:     true,
})
