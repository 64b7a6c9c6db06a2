package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// OneSelectorForSeveral spreads workloads that belong together as one: a constraint counts every pod that its selector matches,
// whichever workload owns it. The pods share a label for it; matchLabelKeys must stay empty, because it would tell the
// workloads apart again.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#topologyspreadconstraints-field
var OneSelectorForSeveral = scenario.Describe(scenario.Spec{
	Name: "conformance/one-selector-for-several",
	Claim: "8 Deployments and 4 StatefulSets whose constraints select the pods of all of them are spread over 6 nodes as if they " +
		"were one: with 1 replica each, and with 2",
	Backend: workloads.Backend{Replicas: 1, Spread: []workloads.Spread{{
		Key: workloads.Host, MatchLabelKeys: []string{},
		Selector: map[string]string{workloads.LabelComponent: workloads.ComponentBackend},
	}}},
	Trials:       12, // 2 on each of 6 nodes happens by chance in 3 of 1000 runs
	StatefulSets: 4,  // they count like the rest: a constraint sees pods, not their controllers
	Faults:       []fault.Fault{fault.Scale{Through: []int{2}}},
	Hold:         3 * time.Second, // so that the last step is seen settled, too
	Promises:     []invariant.Invariant{invariant.SpreadTogether{TopologyKey: workloads.Host, Max: 1}},
	About:        time.Minute,
	Full:         true,
})
