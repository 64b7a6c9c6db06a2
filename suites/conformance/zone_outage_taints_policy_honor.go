package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// replacedIn is how long the lab profile may take to replace the pods of a zone of two nodes: 10 s until both nodes are marked
// lost, 10 s until the second is tainted for eviction, 5 s of toleration, and the rest for new pods to start.
const replacedIn = 40 * time.Second

// outageHold keeps a zone away for longer than its pods may take to be replaced, so that the undo cannot be what replaced them.
const outageHold = replacedIn + 5*time.Second

// ZoneOutageTaintsPolicyHonor keeps the hard rule and counts only usable nodes. A lost node is tainted, so with Honor its zone
// is no longer a domain. Pods do not move back by themselves when the zone returns: 2-2-2 becomes 3-3-0 until the next rollout.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#topologyspreadconstraints-field
var ZoneOutageTaintsPolicyHonor = scenario.Describe(scenario.Spec{
	Name: "conformance/zone-outage-taints-policy-honor",
	Claim: "with DoNotSchedule over zones and nodeTaintsPolicy: Honor, replicas lost with a whole zone are ready again in the other two " +
		"within 40 s, while the zone is still away",
	Backend: workloads.Backend{Replicas: 6, Spread: []workloads.Spread{{Key: workloads.Zone}}},
	Faults:  []fault.Fault{fault.ZoneOutage{}},
	Hold:    outageHold,
	Promises: []invariant.Invariant{
		invariant.ReplacedWithin{Workload: "backend", Limit: replacedIn},
		invariant.RecoversWithin{Workload: "backend", Limit: time.Minute}, // two nodes have to start
	},
	About: 90 * time.Second,
	Full:  true,
})
