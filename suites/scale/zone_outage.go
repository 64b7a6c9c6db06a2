package scale

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// ZoneOutage loses a third of the simulated nodes at once. The lab timings let Kubernetes notice it within 10 s.
var ZoneOutage = scenario.Describe(scenario.Spec{
	Name: "scale/zone-outage",
	Claim: "after the loss of one of three simulated zones each replacement is placed by the rules, a workload among many others is whole a minute " +
		"after the zone is back, and the clients of a workload beside it notice nothing",
	Cluster:   Large,
	Simulated: among(),
	Load:      scenario.DefaultLoad,
	Faults:    []fault.Fault{fault.ZoneOutage{}},
	Hold:      50 * time.Second, // 10 s to be noticed, 5 s of toleration, and 33 nodes at one a second
	Promises: []invariant.Invariant{
		invariant.Placement{Workload: scenario.SimulatedName},
		invariant.RecoversWithin{Workload: scenario.SimulatedName, Limit: recovery},
		invariant.NoFailedRequests{},
	},
	About: 3 * time.Minute,
	Full:  true,
})
