package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// twoRegions are unequal: zone a is a region of its own, b and c are the other.
var twoRegions = clusters.Spec{
	Zones: []string{"a", "b", "c"}, WorkersPerZone: 2,
	PerWorker: map[string][]string{clusters.LabelRegion: {"north", "north", "south", "south", "south", "south"}},
}

// ThreeLayers gives each layer its own strictness. The zones decide; where they leave a choice, which they do for the
// fourth replica, the wish for even regions makes it: zone a gets it, and a node that is empty.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#multiple-topologyspreadconstraints
var ThreeLayers = scenario.Describe(scenario.Spec{
	Name:    "conformance/three-layers",
	Claim:   "soft over 2 unequal regions, hard over 3 zones and soft over nodes, 4 replicas are 2-2 over regions, 2-1-1 over zones and one a node, every time",
	Cluster: twoRegions,
	Backend: workloads.Backend{Replicas: 1, Spread: []workloads.Spread{
		{Key: clusters.LabelRegion, Unsatisfiable: workloads.ScheduleAnyway},
		{Key: workloads.Zone},
		{Key: workloads.Host, Unsatisfiable: workloads.ScheduleAnyway},
	}},
	Trials: 10,
	Faults: []fault.Fault{fault.Scale{Through: []int{4}}}, // and back to 1: a scale-down heeds no spread
	Hold:   3 * time.Second,                               // the last step has to be seen settled, too
	Promises: []invariant.Invariant{
		invariant.SpreadTrials{TopologyKey: clusters.LabelRegion, Max: 1},
		invariant.SpreadTrials{TopologyKey: workloads.Zone, Max: 1},
		invariant.SpreadTrials{TopologyKey: workloads.Host, Max: 1},
	},
	About: 75 * time.Second,
	Full:  true,
})
