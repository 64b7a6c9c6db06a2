package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// ShutDownOneWorker is what becomes of a node that somebody switches off in order, and forgot to drain: its pods get SIGTERM
// from its init and not from their kubelet, no preStop hook runs, and they are offered to clients until the node counts as lost.
//
// Source: https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/
var ShutDownOneWorker = scenario.Describe(scenario.Spec{
	Name: "chaos/shut-down-one-worker",
	Claim: "an orderly shutdown of a worker that nobody has drained is a lost node to clients: its share of the requests fails, but only for the " +
		"predicted time",
	Cluster:  threeNodes,
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.NodeStop{}},
	Hold:     18 * time.Second, // 13 s are predicted: the failures have to end while it is off
	Promises: []invariant.Invariant{invariant.FailuresEndWithin{}},
	About:    80 * time.Second,
	Full:     true,
})
