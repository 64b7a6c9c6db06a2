package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// FiveOverThreeZones places with a spread constraint the replicas that required anti-affinity leaves pending
// (AntiAffinityRequired).
var FiveOverThreeZones = scenario.Describe(scenario.Spec{
	Name:    "conformance/five-over-three-zones",
	Claim:   "a spread constraint places all 5 replicas over 3 zones, 2-2-1",
	Backend: workloads.Backend{Replicas: 1, Spread: []workloads.Spread{{Key: workloads.Zone}}}, // scaling down to more ignores spread
	Faults:  []fault.Fault{fault.Scale{Through: []int{5}}},
	Hold:    3 * time.Second, // so that the last step is seen settled, too
	Promises: []invariant.Invariant{
		invariant.Placed{Workload: "backend"},
		invariant.Spread{Workload: "backend", TopologyKey: workloads.Zone, Max: 1},
	},
	Full: true,
})
