package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ZoneOutageWaitsForTheZone is the deadlock and its third remedy: waiting for the zone to return. With Ignore, the lost zone
// still counts, as an empty domain. A replacement in another zone would be the third pod there, 3 - 0 exceeds maxSkew, and no
// node of the lost zone takes it. In return the spread is 2-2-2 again without any intervention.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#topologyspreadconstraints-field
var ZoneOutageWaitsForTheZone = scenario.Describe(scenario.Spec{
	Name: "conformance/zone-outage-waits-for-the-zone",
	Claim: "with DoNotSchedule over zones and the default nodeTaintsPolicy, Ignore, the 2 of 6 replicas lost with a zone stay pending " +
		"while it is away, and are ready within a minute once it comes back, 2-2-2",
	Backend: workloads.Backend{Replicas: 6, Spread: []workloads.Spread{{Key: workloads.Zone, NodeTaintsPolicy: workloads.Ignore}}},
	Faults:  []fault.Fault{fault.ZoneOutage{}},
	Hold:    outageHold,
	Promises: []invariant.Invariant{
		invariant.Placed{Workload: "backend", Pending: 2},
		invariant.RecoversWithin{Workload: "backend", Limit: time.Minute}, // two nodes have to start
		invariant.Spread{Workload: "backend", TopologyKey: workloads.Zone, Max: 0},
	},
	About: 90 * time.Second,
	Full:  true,
})
