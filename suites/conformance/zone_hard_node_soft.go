package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ZoneHardNodeSoft is the set-up that guides recommend: DoNotSchedule over zones, ScheduleAnyway over nodes. The first is a
// rule; the second is a wish, which the scheduler weighs against others, so it takes many tries.
var ZoneHardNodeSoft = scenario.Describe(scenario.Spec{
	Name:  "conformance/zone-hard-node-soft",
	Claim: "6 replicas over 3 zones of 2 nodes, hard over zones and soft over nodes, are 2-2-2 and one a node, after a rolling update too, every time",
	Backend: workloads.Backend{
		Replicas:  6,                     // with the default spread
		PreStop:   workloads.NoPreStop,   // there is no load to protect
		Readiness: workloads.NoReadiness, // probes of a hundred pods would keep the processors from starting them
	},
	Trials: 10,
	Faults: []fault.Fault{fault.Rollout{}},
	Hold:   3 * time.Second, // what the rollout left has to be seen settled before it is rolled back
	Promises: []invariant.Invariant{
		invariant.SpreadTrials{TopologyKey: workloads.Zone, Max: 0},
		invariant.SpreadTrials{TopologyKey: workloads.Host, Max: 0},
	},
	About: 2 * time.Minute,
	Full:  true,
})
