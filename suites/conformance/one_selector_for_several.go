package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// OneSelectorForSeveral spreads workloads that belong together as one: a constraint counts whatever its selector matches,
// of whichever workload. The label that they share is in their pods; matchLabelKeys must not tell them apart again.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#topologyspreadconstraints-field
var OneSelectorForSeveral = scenario.Describe(scenario.Spec{
	Name: "conformance/one-selector-for-several",
	Claim: "8 Deployments and 4 StatefulSets whose constraints select the pods of all of them are spread over 6 nodes as if they were one: " +
		"with 1 replica each, and with 2",
	Backend: workloads.Backend{Replicas: 1, Spread: []workloads.Spread{{
		Key: workloads.Host, MatchLabelKeys: []string{},
		Selector: map[string]string{workloads.LabelComponent: workloads.ComponentBackend},
	}}},
	Trials:       12, // that chance does it, 2 on each of 6 nodes, happens 3 times of 1000
	StatefulSets: 4,  // which count like the rest: a constraint sees pods, and not who made them
	Faults:       []fault.Fault{fault.Scale{Through: []int{2}}},
	Hold:         3 * time.Second, // the last step has to be seen settled, too
	Promises:     []invariant.Invariant{invariant.SpreadTogether{TopologyKey: workloads.Host, Max: 1}},
	About:        time.Minute,
	Full:         true,
})
