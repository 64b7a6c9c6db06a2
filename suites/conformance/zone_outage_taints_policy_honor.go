package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// replacedIn is how long the lab profile may take to replace what a zone of two nodes carried: 10 s until both losses are
// noticed, 10 s more until the second node is marked for eviction, 5 s of toleration, and the rest for new pods to start.
const replacedIn = 40 * time.Second

// outageHold keeps a zone away for as long as its pods may take to be replaced, so that it is not the undo that did it.
const outageHold = replacedIn + 5*time.Second

// ZoneOutageTaintsPolicyHonor keeps the hard rule and counts only nodes that can be used. A node that is lost is tainted:
// with Honor its zone is no domain any more. Pods do not go back by themselves when the zone does: what was 2-2-2 is
// 3-3-0 until the next rollout.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#topologyspreadconstraints-field
var ZoneOutageTaintsPolicyHonor = scenario.Describe(scenario.Spec{
	Name: "conformance/zone-outage-taints-policy-honor",
	Claim: "with DoNotSchedule over zones and nodeTaintsPolicy: Honor, what is lost with a whole zone is ready again in the other two within 40 s, " +
		"while the zone is still away",
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
