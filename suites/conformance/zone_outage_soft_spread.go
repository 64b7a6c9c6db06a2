package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ZoneOutageSoftSpread replaces the rule by a preference: lost zones count as empty domains, but they block nothing. The price
// is that the scheduler may crowd one zone at any other time, too; see FullNodeSoftSpread.
var ZoneOutageSoftSpread = scenario.Describe(scenario.Spec{
	Name: "conformance/zone-outage-soft-spread",
	Claim: "with ScheduleAnyway over zones, replicas lost with a whole zone are ready again in the other two within 40 s, while the zone " +
		"is still away, whatever nodeTaintsPolicy says",
	Backend: workloads.Backend{Replicas: 6, Spread: []workloads.Spread{
		{Key: workloads.Zone, Unsatisfiable: workloads.ScheduleAnyway, NodeTaintsPolicy: workloads.Ignore},
	}},
	Faults: []fault.Fault{fault.ZoneOutage{}},
	Hold:   outageHold,
	Promises: []invariant.Invariant{
		invariant.ReplacedWithin{Workload: "backend", Limit: replacedIn},
		invariant.RecoversWithin{Workload: "backend", Limit: time.Minute}, // two nodes have to start
	},
	About: 90 * time.Second,
	Full:  true,
})
