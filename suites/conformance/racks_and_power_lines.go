package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Labels of topology domains other than zones: any node label can be a topologyKey.
const (
	rack  = "rack"
	power = "power"
)

// racked has a worker in each of three racks on each of two power lines. Neither the rack nor the power line can be derived
// from the other, nor from the zone.
var racked = clusters.Spec{
	Zones: []string{"a", "b", "c"}, WorkersPerZone: 2,
	PerWorker: map[string][]string{rack: {"r1", "r2", "r3"}, power: {"p1", "p2"}},
}

// RacksAndPowerLines spreads over two custom topologies at the same time. Both constraints are hard. They cannot deadlock here,
// because every rack has a node on every power line.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#node-labels
var RacksAndPowerLines = scenario.Describe(scenario.Spec{
	Name: "conformance/racks-and-power-lines",
	Claim: "with a constraint for each of two custom node labels, 1, 4, 5 and 7 replicas over 3 racks and 2 power lines are at most " +
		"one pod apart, every time",
	Cluster: racked,
	Backend: workloads.Backend{Replicas: 1, Spread: []workloads.Spread{{Key: rack}, {Key: power}}},
	Trials:  10,
	Faults:  []fault.Fault{fault.Scale{Through: []int{4, 5, 7}}}, // the undo scales to 1: scaling down ignores spread
	Hold:    3 * time.Second,                                     // so that the last step is seen settled, too
	Promises: []invariant.Invariant{
		invariant.SpreadTrials{TopologyKey: rack, Max: 1},
		invariant.SpreadTrials{TopologyKey: power, Max: 1},
	},
	About: 90 * time.Second,
	Full:  true,
})
