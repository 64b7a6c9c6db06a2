package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ZoneHardNodeSoft is the set-up that guides recommend: DoNotSchedule over zones, ScheduleAnyway over nodes. The second
// constraint is a preference that the scheduler weighs against others, so it needs many trials.
var ZoneHardNodeSoft = scenario.Describe(scenario.Spec{
	Name: "conformance/zone-hard-node-soft",
	Claim: "with constraints that are hard over 3 zones of 2 nodes and soft over nodes, 6 replicas are spread 2-2-2 and one per " +
		"node, after a rolling update too, every time",
	Backend: workloads.Backend{
		Replicas:  6,                     // with the default spread
		PreStop:   workloads.NoPreStop,   // there is no load to protect
		Readiness: workloads.NoReadiness, // probing a hundred pods would leave too little CPU time to start them
	},
	Trials: 6, // with 10, two cores start 20 pods at once, and nodes are lost for lack of CPU time
	Faults: []fault.Fault{fault.Rollout{}},
	Hold:   3 * time.Second, // so that the rollout is seen settled before its rollback
	Promises: []invariant.Invariant{
		invariant.SpreadTrials{TopologyKey: workloads.Zone, Max: 0},
		invariant.SpreadTrials{TopologyKey: workloads.Host, Max: 0},
	},
	About: 5 * time.Minute,
	Full:  true,
})
