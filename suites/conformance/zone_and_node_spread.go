package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ZoneAndNodeSpread checks every number of replicas from 1 to 7 over three zones of two nodes.
var ZoneAndNodeSpread = scenario.Describe(scenario.Spec{
	Name:  "conformance/zone-and-node-spread",
	Claim: "from 1 to 7 replicas, zones and nodes differ by at most one pod at every step",
	Backend: workloads.Backend{
		Replicas: 1, Spread: []workloads.Spread{{Key: workloads.Zone}, {Key: workloads.Host}},
		PreStop: workloads.NoPreStop, // there is no load to protect
	},
	Steady: before, Recovered: after,
	Faults: []fault.Fault{fault.Scale{Through: []int{2, 3, 4, 5, 6, 7}}},
	Hold:   3 * time.Second, // so that the last step is seen settled, too
	Promises: []invariant.Invariant{
		invariant.Spread{Workload: "backend", TopologyKey: workloads.Zone, Max: 1},
		invariant.Spread{Workload: "backend", TopologyKey: workloads.Host, Max: 1},
	},
	About: 30 * time.Second,
})
