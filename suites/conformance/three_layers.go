package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// twoRegions are unequal: zone a is one region, zones b and c are the other.
var twoRegions = clusters.Spec{
	Zones: []string{"a", "b", "c"}, WorkersPerZone: 2,
	PerWorker: map[string][]string{clusters.LabelRegion: {"north", "north", "south", "south", "south", "south"}},
}

// ThreeLayers combines a soft, a hard and a soft constraint. The hard constraint over zones decides first. Where it leaves a
// choice, as for the fourth replica, the preference for even regions selects zone a, and the preference for even nodes an empty
// node there.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#multiple-topologyspreadconstraints
var ThreeLayers = scenario.Describe(scenario.Spec{
	Name: "conformance/three-layers",
	Claim: "with constraints that are soft over 2 unequal regions, hard over 3 zones and soft over nodes, 4 replicas are spread 2-2 " +
		"over regions, 2-1-1 over zones and one per node, every time",
	Cluster: twoRegions,
	Backend: workloads.Backend{Replicas: 1, Spread: []workloads.Spread{
		{Key: clusters.LabelRegion, Unsatisfiable: workloads.ScheduleAnyway},
		{Key: workloads.Zone},
		{Key: workloads.Host, Unsatisfiable: workloads.ScheduleAnyway},
	}},
	Trials: 10,
	Faults: []fault.Fault{fault.Scale{Through: []int{4}}}, // the undo scales to 1: scaling down ignores spread
	Hold:   3 * time.Second,                               // so that the last step is seen settled, too
	Promises: []invariant.Invariant{
		invariant.SpreadTrials{TopologyKey: clusters.LabelRegion, Max: 1},
		invariant.SpreadTrials{TopologyKey: workloads.Zone, Max: 1},
		invariant.SpreadTrials{TopologyKey: workloads.Host, Max: 1},
	},
	About: 75 * time.Second,
	Full:  true,
})
