package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Labels of domains that are no zones. Any label of a node makes a topology.
const (
	rack  = "rack"
	power = "power"
)

// racked has a worker in each of three racks on each of two power lines: neither can be guessed from the other, nor from
// the zone.
var racked = clusters.Spec{
	Zones: []string{"a", "b", "c"}, WorkersPerZone: 2,
	PerWorker: map[string][]string{rack: {"r1", "r2", "r3"}, power: {"p1", "p2"}},
}

// RacksAndPowerLines spreads over two topologies of its own at the same time. Both are strict, and that cannot deadlock
// here, for every rack has a node on every line.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#node-labels
var RacksAndPowerLines = scenario.Describe(scenario.Spec{
	Name:    "conformance/racks-and-power-lines",
	Claim:   "with a constraint for each of two labels of one's own, 1, 4, 5 and 7 replicas over 3 racks and 2 power lines are at most one pod apart, every time",
	Cluster: racked,
	Backend: workloads.Backend{Replicas: 1, Spread: []workloads.Spread{{Key: rack}, {Key: power}}},
	Trials:  10,
	Faults:  []fault.Fault{fault.Scale{Through: []int{4, 5, 7}}}, // and back to 1: a scale-down heeds no spread
	Hold:    3 * time.Second,                                     // the last step has to be seen settled, too
	Promises: []invariant.Invariant{
		invariant.SpreadTrials{TopologyKey: rack, Max: 1},
		invariant.SpreadTrials{TopologyKey: power, Max: 1},
	},
	About: 90 * time.Second,
	Full:  true,
})
