package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// ShutDownOneWorker is an orderly shutdown of a node that was not drained: its pods get SIGTERM from the node's init and not
// from their kubelet, no preStop hook runs, and they stay ready endpoints until the node counts as lost.
//
// Source: https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/
var ShutDownOneWorker = scenario.Describe(scenario.Spec{
	Name: "chaos/shut-down-one-worker",
	Claim: "to clients, an orderly shutdown of a worker that was not drained is a lost node: its share of the requests fails, but " +
		"only for the predicted time",
	Cluster:  threeNodes,
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.NodeStop{}},
	Hold:     18 * time.Second, // longer than the predicted 13 s: the failures must end before the undo
	Promises: []invariant.Invariant{invariant.FailuresEndWithin{}},
	About:    80 * time.Second,
	Full:     true,
})
